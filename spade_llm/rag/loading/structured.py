"""CSV, TSV, JSON and JSON Lines files as text."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text import BoundedText, LoadedText, decode_text

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COLUMNS = 1000
MAX_NAME_CHARS = 100
_DELIMITERS = ",;\t|"


def parse_csv(content: bytes, *, delimiter: str | None = None) -> LoadedText:
    """Parse a CSV file; by default the delimiter is the one that the first line has most of.

    Raises InvalidArguments; the sentence continues from the file name.
    """
    text = decode_text(content)
    if delimiter is None:
        # Not csv.Sniffer, which takes quadratic time.
        first_line = text.lstrip()[:10_000].partition("\n")[0]
        delimiter = max(_DELIMITERS, key=first_line.count)
    # newline="" keeps line ends within quoted cells (documentation of csv).
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    written, count = BoundedText(), 0
    for block in _row_texts(_check_rows(rows)):
        written.add(block + "\n\n")
        count += 1
    return LoadedText(text=str(written), is_markdown=False, metadata={"rows": count})


def _check_rows(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        for cells in rows:
            if len(cells) > MAX_COLUMNS:
                raise InvalidArguments(f"has more than {MAX_COLUMNS} columns; is it a CSV file?")
            if any(cells):
                yield cells
    except csv.Error as error:
        raise InvalidArguments(f"is not valid CSV: {error}; export it again") from error


def _row_texts(rows: Iterator[list[str]]) -> Iterator[str]:
    first = next(rows, [])
    names = [" ".join(name.split())[:MAX_NAME_CHARS] for name in first]
    # A header has different names and no numbers.
    is_header = all(names) and len({*map(str.strip, first)}) == len(first)
    if not is_header or any(map(_is_number, first)):
        names = []
        yield _row_text(first, names)
    for cells in rows:
        yield _row_text(cells, names)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True


def _row_text(cells: list[str], names: list[str]) -> str:
    named = [*names, *(f"column {number + 1}" for number in range(len(names), len(cells)))]
    lines = zip(named, (cell.strip() for cell in cells), strict=False)
    return "\n".join(f"{name}: {cell}" for name, cell in lines if cell)


MAX_DEPTH = 100


def parse_json(content: bytes) -> LoadedText:
    """Parse a JSON file, a line per value. Raises InvalidArguments; the sentence continues from the
    file name."""
    written = BoundedText()
    for line in _value_lines(_parse_value(decode_text(content), ""), "", 0):
        written.add(line)
    return LoadedText(text=str(written), is_markdown=False)


def parse_json_lines(content: bytes) -> LoadedText:
    """Parse a file with one JSON value per line. Raises the errors of parse_json."""
    written = BoundedText()
    for number, text in enumerate(decode_text(content).split("\n"), 1):
        if text.strip():
            for line in _value_lines(_parse_value(text, f"line {number} of it "), "", 0):
                written.add(line)
            written.add("\n")
    return LoadedText(text=str(written), is_markdown=False)


def _parse_value(text: str, where: str) -> object:
    try:
        # Numbers stay as they are written; int() refuses those of 4300 digits.
        value: object = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise InvalidArguments(f"is not valid JSON: {where}{error}") from error
    except RecursionError as error:
        raise InvalidArguments("is JSON that is nested too deeply to be read") from error
    return value


def _value_lines(value: object, path: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise InvalidArguments(f"is JSON that is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _value_lines(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for number, inner in enumerate(value):
            yield from _value_lines(inner, f"{path}[{number}]", depth + 1)
            yield "\n"
    else:
        values = value if isinstance(value, list) else [value]
        shown = ", ".join(map(_format_scalar, values))
        yield f"{path}: {shown}\n" if path else f"{shown}\n"


def _format_scalar(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
