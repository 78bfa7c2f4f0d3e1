"""Argument checks of public constructors: errors name the argument, what was given and the fix."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, TypeVar

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

MAX_SHOWN_CHARS = 80


def check_keywords(given: Mapping[str, object], known: type, *, of: Callable[..., object]) -> None:
    """Raises TypeError, naming each keyword that a TypedDict has not. `of`: the class or function
    that takes them beside its own parameters."""
    names = sorted(known.__annotations__)
    if not (unknown := sorted(set(given) - set(names))):
        return
    own = [
        name
        for name, one in signature(of).parameters.items()
        if one.kind not in (one.VAR_KEYWORD, one.POSITIONAL_ONLY)
    ]
    near = suggestion(unknown[0], [*own, *names]) or ": remove it, or check its spelling;"
    raise TypeError(
        f"{of.__name__} takes no {', '.join(unknown)}{near}"
        f" beside {', '.join(own)} it takes {', '.join(names)}"
    )


def check_type(value: object, kind: type, *, of: str, fix: str) -> None:
    """Raises TypeError unless the argument `of` is an object of this class."""
    if not isinstance(value, kind):
        raise wrong_type(value, of=of, fix=fix)


def check_private(value: object, kind: type, *, of: str, fix: str) -> None:
    """The same for a secret or a result of user code, whose value must not be logged."""
    if not isinstance(value, kind):
        raise TypeError(f"{of} is an object of {type(value).__name__}: {fix}")


def check_methods(value: object, methods: Iterable[str], *, of: str, fix: str) -> None:
    """Raises TypeError unless the argument `of` is an object (no class) with these attributes."""
    if isinstance(value, type):
        raise TypeError(f"{of} is the class {value.__name__}: create an object of it; {fix}")
    if missing := [name for name in methods if not hasattr(value, name)]:
        raise wrong_type(value, of=of, fix=f"it has no {' and no '.join(missing)}; {fix}")


def as_tuple(value: Iterable[T], *, of: str) -> tuple[T, ...]:
    """Items of a list. Raises TypeError: a single text or object stands in place of the list."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise wrong_type(value, of=of, fix="give a list")
    return tuple(value)


def check_number(value: float, *, of: str, least: float, is_above: bool = False) -> None:
    """Raises ConfigurationError unless it is a number of at least `least`, or above it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Not `value < least`, which is false for NaN.
    if not (is_number and (value > least if is_above else value >= least)):
        expected = f"above {least:g}" if is_above else f"of at least {least:g}"
        raise ConfigurationError(f"{of} is {_shown(value)}: give a number {expected}")


def wrong_type(value: object, *, of: str, fix: str) -> TypeError:
    return TypeError(f"{of} is {_shown(value)}: {fix}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
