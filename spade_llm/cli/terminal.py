"""Terminal output: sanitizes text of other agents (control characters), shows a progress bar."""

from __future__ import annotations

import sys
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.core.redaction import is_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WIDTH = 30


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)


def sanitize_line(text: str) -> str:
    """Control and direction characters, and line ends, become spaces."""
    return "".join(" " if is_invisible(letter) else letter for letter in text)


def sanitize_lines(text: str) -> str:
    """Sanitize each line."""
    return "\n".join(map(sanitize_line, text.splitlines()))


def sanitize_text(text: str) -> str:
    """Remove control characters except line ends and tabs. The text may arrive in pieces and in any
    language."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress bar for the block, as a callback of the items done and their total."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return

    def show(done: int, total: int) -> None:
        share = done / total if total else 1.0
        bar = ("#" * round(WIDTH * share)).ljust(WIDTH, ".")
        print(f"\r{what:<10}  [{bar}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(f"\r{' ' * (WIDTH + len(what) + 12)}\r", end="", file=sys.stderr, flush=True)
