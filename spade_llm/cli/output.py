"""Command output: text for people, or one JSON object per line for programs (`--json`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


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
