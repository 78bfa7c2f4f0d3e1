"""A tool's arguments as a model wrote them: each is read by type, or refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Mapping


def text(arguments: Mapping[str, object], name: str) -> str:
    """Raises InvalidArguments if it is missing or no text."""
    value = optional_text(arguments, name)
    if value is None:
        raise InvalidArguments(f"{name} is required")
    return value


def optional_text(arguments: Mapping[str, object], name: str) -> str | None:
    """None if it is missing or null."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidArguments(f"{name} must be a string")
    return value


def number(arguments: Mapping[str, object], name: str, *, default: float) -> float:
    """The default if it is missing or null."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArguments(f"{name} must be a number")
    return value


def whole_number(arguments: Mapping[str, object], name: str, *, default: int, highest: int) -> int:
    """From 1 to `highest`; 5.0 is 5, since JSON knows no difference."""
    value = number(arguments, name, default=default)
    if value != value // 1 or not 1 <= value <= highest:
        raise InvalidArguments(f"{name} must be a whole number from 1 to {highest}, not {value}")
    return int(value)
