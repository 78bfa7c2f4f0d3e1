"""Tables as text (.csv, .tsv): a paragraph per row, each cell with its column's name.

So whatever passage a row ends up in says what its values mean.
"""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.loading.decoding import decoded
from spade_llm.rag.loading.text import BoundedText, LoadedText

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COLUMNS = 1000
MAX_NAME_CHARS = 100
_DELIMITERS = ",;\t|"


def parse_csv(content: bytes, *, delimiter: str | None = None) -> LoadedText:
    """Raises InvalidArguments; the sentence goes on from the file's name."""
    text = decoded(content)
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter or _delimiter(text))
    written, count = BoundedText(), 0
    for block in _blocks(_checked(rows)):
        written.add(block + "\n\n")
        count += 1
    return LoadedText(text=str(written), is_markdown=False, metadata={"rows": count})


def _delimiter(text: str) -> str:
    """The one that the first line has most of. csv.Sniffer takes quadratic time."""
    first = text.lstrip()[:10_000].partition("\n")[0]
    return max(_DELIMITERS, key=first.count)


def _checked(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        for cells in rows:
            if len(cells) > MAX_COLUMNS:
                raise InvalidArguments(f"has more than {MAX_COLUMNS} columns; is it a CSV file?")
            if any(cells):
                yield cells
    except csv.Error as error:
        raise InvalidArguments(f"is no readable CSV: {error}; export it again") from error


def _blocks(rows: Iterator[list[str]]) -> Iterator[str]:
    first = next(rows, [])
    if _is_header(first):
        names = [" ".join(name.split())[:MAX_NAME_CHARS] for name in first]
    else:
        names = []
        yield _block(first, names)
    for cells in rows:
        yield _block(cells, names)


def _is_header(cells: list[str]) -> bool:
    names = [cell.strip() for cell in cells]
    return all(names) and len(set(names)) == len(names) and not any(map(_is_number, names))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True


def _block(cells: list[str], names: list[str]) -> str:
    named = [*names, *(f"column {number + 1}" for number in range(len(names), len(cells)))]
    lines = zip(named, (cell.strip() for cell in cells), strict=False)
    return "\n".join(f"{name}: {cell}" for name, cell in lines if cell)
