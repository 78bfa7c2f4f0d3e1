"""A progress bar on standard error, where a person looks; nothing in a script's log."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WIDTH = 30


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Takes how many are done, and of how many."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    try:
        yield lambda done, total: _show(what, done, total)
    finally:
        print(f"\r{' ' * (WIDTH + len(what) + 12)}\r", end="", file=sys.stderr, flush=True)


def _show(what: str, done: int, total: int) -> None:
    share = done / total if total else 1.0
    bar = ("#" * round(WIDTH * share)).ljust(WIDTH, ".")
    print(f"\r{what:<10}  [{bar}] {share:4.0%}", end="", file=sys.stderr, flush=True)
