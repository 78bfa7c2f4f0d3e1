"""Pattern: a regular expression with a limit on its time. Means what Python's `re` means by it.

`re` cannot be interrupted, and holds every thread up: one pattern such as `(a|a)*$` and one
message would stop the whole agent. `regex` gives up in time, and lets other threads run.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, TypedDict

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    import regex

    class Match(Protocol):
        def start(self) -> int: ...
        def end(self) -> int: ...
        def expand(self, template: str) -> str: ...


THREAD_S = 0.5
"""Of processor time, for a text, in a thread."""
LOOP_S = 0.02
"""The same on the event loop, where nearly every pattern needs less than it takes to start a
thread."""
MAX_WIDTH = 1000
"""A pattern that may match more is judged on the whole text."""
_FUZZY = re.compile(r"(\\.)|\{(?!\d*,?\d*\})", re.DOTALL)
_MARGIN = 2
"""What `$` and `\\b` look at, behind a match."""


class Pattern:
    def __init__(self, pattern: str, *, named_in: str) -> None:
        """Raises ConfigurationError: `named_in` says whose it is."""
        self.source = pattern
        self._re = _checked(pattern, named_in)
        self._regex = _compiled(pattern, named_in)

    def check_replacement(self, replacement: str, *, named_in: str) -> None:
        """Raises ConfigurationError."""
        try:
            self._re.sub(replacement, "")
        except (re.error, IndexError) as error:
            raise ConfigurationError(f"{named_in}: replacement {replacement!r}: {error}") from None

    def is_in(self, text: str, *, is_in_thread: bool) -> bool:
        """Raises TimeoutError."""
        limits = _limits(is_in_thread=is_in_thread)
        return self._regex.search(text, **limits) is not None

    def replaced(self, text: str, replacement: str, *, is_in_thread: bool) -> str:
        """Raises TimeoutError."""
        limits = _limits(is_in_thread=is_in_thread)
        return str(self._regex.sub(replacement, text, **limits))

    def matches(self, text: str, start: int) -> Iterator[Match]:
        """From this place on; what stands before it counts for `\\b`. Raises TimeoutError."""
        return iter(self._regex.finditer(text, start, timeout=LOOP_S))

    def reach(self) -> int | None:
        """So many characters from where a match begins decide what it is; None: it may be all."""
        if "(?=" in self.source or "(?!" in self.source:
            return None
        least, most = _width(self.source)
        return most + _MARGIN if least > 0 and most <= MAX_WIDTH else None


class _Limits(TypedDict):
    timeout: float
    concurrent: bool
    """Let other threads run: to come back to the event loop's own may take long, where they do."""


def _limits(*, is_in_thread: bool) -> _Limits:
    return _Limits(timeout=THREAD_S if is_in_thread else LOOP_S, concurrent=is_in_thread)


def _checked(pattern: str, named_in: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            # "Possible nested set": `regex` and later Pythons read it otherwise.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(pattern)
    except (re.error, FutureWarning, RecursionError, OverflowError) as error:
        raise ConfigurationError(f"{named_in}: pattern {pattern!r}: {error}") from None


def _compiled(pattern: str, named_in: str) -> regex.Pattern[str]:
    """In `regex`, `a{e}` is a fuzzy match; in `re`, such braces are themselves."""
    import regex

    literal = _FUZZY.sub(lambda found: found[1] or r"\{", pattern)
    try:
        return regex.compile(literal, regex.VERSION0)
    except regex.error as error:
        raise ConfigurationError(f"{named_in}: pattern {pattern!r}: {error}") from None


def _width(pattern: str) -> tuple[int, int]:
    """Of what it matches, the least and the most."""
    # Not public, and the only thing in Python that knows; under this name since 3.11.
    parsed = import_module("re._parser").parse(pattern)
    least, most = parsed.getwidth()
    return int(least), int(most)
