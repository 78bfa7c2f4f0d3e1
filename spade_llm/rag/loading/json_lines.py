"""JSON as text: a line per value, with the path that leads to it; a paragraph per object of a list.

So a passage says what a value is the value of, and a record is not torn from its names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.loading.decoding import decoded
from spade_llm.rag.loading.text import BoundedText, LoadedText

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100


def parse_json(content: bytes) -> LoadedText:
    """Raises InvalidArguments; the sentence goes on from the file's name."""
    written = BoundedText()
    for line in _lines(_value(decoded(content), ""), "", 0):
        written.add(line)
    return LoadedText(text=str(written), is_markdown=False)


def parse_json_lines(content: bytes) -> LoadedText:
    """One JSON value per line. Raises as parse_json."""
    written = BoundedText()
    for number, text in enumerate(decoded(content).split("\n"), 1):
        if text.strip():
            for line in _lines(_value(text, f"line {number} of it "), "", 0):
                written.add(line)
            written.add("\n")
    return LoadedText(text=str(written), is_markdown=False)


def _value(text: str, where: str) -> object:
    try:
        # Numbers stay as they are written; int() refuses those of 4300 digits.
        value: object = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise InvalidArguments(f"is no valid JSON: {where}{error}") from error
    except RecursionError as error:
        raise InvalidArguments("is JSON that is nested too deeply to be read") from error
    return value


def _lines(value: object, path: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise InvalidArguments(f"is JSON that is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for number, inner in enumerate(value):
            yield from _lines(inner, f"{path}[{number}]", depth + 1)
            yield "\n"
    else:
        yield _line(value, path)


def _line(value: object, path: str) -> str:
    shown = ", ".join(map(_shown, value)) if isinstance(value, list) else _shown(value)
    return f"{path}: {shown}\n" if path else f"{shown}\n"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
