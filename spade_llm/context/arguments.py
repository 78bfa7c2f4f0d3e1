"""Checks of the strategies' arguments: a wrong one is named at construction."""

from __future__ import annotations


def checked_count(name: str, value: int, *, minimum: int) -> int:
    """`value`, if it is an int of at least `minimum`.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, not {value!r}")
    return value


def checked_flag(name: str, value: bool) -> bool:
    """`value`, if it is a bool.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return value


def checked_share(name: str, value: float) -> float:
    """`value`, if it is a number from 0 to 1.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)
