"""Terminal output: results as text or JSON, sanitizing of control characters, styles, progress."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pydantic_core import to_jsonable_python

from spade_llm.core.redaction import is_invisible

WIDTH = 30
PROGRESS_AFTER_S = 2.0
"""Time in seconds before a progress bar appears: most actions are over by then."""

_LABEL = re.compile(r"\w[\w ]{1,10}(?= {2})")
STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
"""Parameters of the escape sequence that selects a style (ECMA-48 SGR)."""


def say(line: str) -> None:
    """Print a line at once, also into a pipe. A label in its first columns is bold."""
    label = _LABEL.match(line)
    text = f"{style(label[0], 'bold')}{line[label.end() :]}" if label else line
    print(text, flush=True)


def warn(line: str) -> None:
    """Print a line on standard error, in the place of a progress bar if one is there."""
    is_terminal = sys.stderr.isatty()
    print(f"\r\x1b[K{line}" if is_terminal else line, file=sys.stderr, flush=True)


def has_colour(stream: TextIO | None = None) -> bool:
    """True if text on the stream (default: standard output) may have colours: it is a terminal
    that shows them, and NO_COLOR (no-color.org) is not set."""
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_wanted and (stream or sys.stdout).isatty()


def style(text: str, name: str, stream: TextIO | None = None) -> str:
    """Text in one of STYLES if the stream shows colours; empty name: unchanged."""
    if not name or not has_colour(stream):
        return text
    return f"\x1b[{STYLES[name]}m{text}\x1b[0m"


def sanitize_line(text: str) -> str:
    """Control and direction characters, and line ends, become spaces."""
    return "".join(" " if is_invisible(letter) else letter for letter in text)


def sanitize_lines(text: str) -> str:
    return "\n".join(map(sanitize_line, text.splitlines()))


def sanitize_text(text: str) -> str:
    """Remove control characters except line ends and tabs. The text may arrive in pieces and in any
    language."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


@contextmanager
def progress_bar(what: str, *, is_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Progress bar for the block, as a callback of the items (or bytes) done and their total. It
    appears after PROGRESS_AFTER_S, and only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    started = time.monotonic()
    width = 0

    def show(done: int, total: int) -> None:
        nonlocal width
        elapsed_s = time.monotonic() - started
        if elapsed_s < PROGRESS_AFTER_S:
            return
        share = done / total if total else 1.0
        bar = ("#" * round(WIDTH * share)).ljust(WIDTH, ".")
        rate = f"{done / elapsed_s / 1e6:.1f} MB/s" if is_bytes else f"{done / elapsed_s:.3g}/s"
        left = f"  {elapsed_s * (total - done) / done:.0f} s left" if 0 < done < total else ""
        line = f"{what:<10}  [{bar}] {share:4.0%}  {rate}{left}"
        width = max(width, len(line))
        print(f"\r{line.ljust(width)}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if width:
            print(f"\r{' ' * width}\r", end="", file=sys.stderr, flush=True)


def show(options: argparse.Namespace, record: object, text: str | Iterable[str]) -> None:
    """Print one result: with `--json` the record (dataclass, pydantic model or mapping) on one
    line, otherwise its text, a line or several."""
    if options.json:
        # ASCII only: text of other agents cannot steer the terminal.
        print(json.dumps(to_jsonable_python(record)))
        return
    for line in (text,) if isinstance(text, str) else text:
        print(line)


def note(options: argparse.Namespace, text: str) -> None:
    """Print a line that is no result: nothing was found, or what to do next. Not with `--json`."""
    if not options.json:
        print(text)
