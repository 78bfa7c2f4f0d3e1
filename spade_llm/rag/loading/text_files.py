"""Text of a file: kinds by suffix, decoding, size limit, Markdown; CSV and JSON files as text."""

from __future__ import annotations

import codecs
import csv
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from io import StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.contract import SourceDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spade_llm.rag.contract import Scalar

_TEXT = "txt text md markdown log rst adoc org tex srt vtt"
_SETTINGS = "toml yaml yml ini cfg conf properties xml"
_CODE = (
    "py pyi js mjs cjs jsx ts tsx java kt kts scala groovy c h cc cpp cxx hh hpp cs m mm go rs "
    "rb php swift dart lua pl pm r jl hs ml ex exs erl clj lisp el vue svelte css scss less "
    "sh bash zsh fish ps1 bat sql graphql proto tf cmake mk gradle"
)
_NAMES = frozenset(
    {"makefile", "dockerfile", "readme", "license", "licence", "changelog", "notice"}
)
"""Text files that usually have no extension."""


class FileKind(StrEnum):
    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSON_LINES = "jsonl"


_KIND_BY_SUFFIX: dict[str, FileKind] = {
    **{f".{suffix}": FileKind.TEXT for suffix in f"{_TEXT} {_SETTINGS} {_CODE}".split()},
    ".html": FileKind.HTML,
    ".htm": FileKind.HTML,
    ".xhtml": FileKind.HTML,
    ".pdf": FileKind.PDF,
    ".docx": FileKind.DOCX,
    ".csv": FileKind.CSV,
    ".tsv": FileKind.TSV,
    ".json": FileKind.JSON,
    ".jsonl": FileKind.JSON_LINES,
    ".ndjson": FileKind.JSON_LINES,
}
CODE_SUFFIXES = frozenset(f".{suffix}" for suffix in _CODE.split())
BINARY_KINDS = frozenset({FileKind.PDF, FileKind.DOCX})
"""Kinds whose size is not that of their text, since it includes pictures and fonts."""


def file_kind(name: str) -> FileKind | None:
    """Return the kind by the name of the file; None if it is not supported."""
    path = PurePath(name)
    if path.name.lower() in _NAMES:
        return FileKind.TEXT
    return _KIND_BY_SUFFIX.get(path.suffix.lower())


def unsupported_reason(name: str) -> str:
    """Explain to the user why a file of this name is skipped; the sentence continues from the file
    name."""
    suffix = PurePath(name).suffix
    kind = f"a kind of file that is not read ({suffix})" if suffix else "without an ending"
    return (
        f"{kind}; these are: .txt, .md, .rst, .log, .html, .pdf, .docx, .csv, .tsv, .json, "
        ".jsonl, settings (.toml, .yaml, …) and source code"
    )


MAX_TEXT_BYTES = 20_000_000
"""Maximum size of the text of one document in bytes (UTF-8)."""
MAX_METADATA_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedText:
    """Text of a file; the fields are those of SourceDocument."""

    text: str
    page_starts: tuple[int, ...] = ()
    is_markdown: bool | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)

    def document(self, source: str, namespace: str) -> SourceDocument:
        return SourceDocument(
            text=self.text,
            source=source,
            namespace=namespace,
            metadata=self.metadata,
            page_starts=self.page_starts,
            is_markdown=self.is_markdown,
        )


class BoundedText:
    """Text builder with a size limit, since a crafted file of some kilobytes can expand to
    gigabytes of text."""

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[str] = []
        self._bytes = 0
        self.length = 0
        """Length in characters so far: the offset of the next piece."""

    def add(self, piece: str) -> None:
        """Append text. Raises InvalidArguments if it is too long; the sentence continues from the
        file name."""
        clean = sanitize_text(piece)
        self._bytes += len(clean) if clean.isascii() else len(clean.encode())
        if self._bytes > self._max_bytes:
            raise InvalidArguments(
                f"has more than {self._max_bytes} bytes of text; split it into several files"
            )
        self._pieces.append(clean)
        self.length += len(clean)

    def __str__(self) -> str:
        return "".join(self._pieces)


def sanitize_text(text: str) -> str:
    """Remove NULs and replace lone surrogates, which parsers return and UTF-8 does not allow."""
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # By way of UTF-16, which joins valid surrogate pairs and leaves only lone ones to replace.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def document_metadata(values: Mapping[str, object]) -> dict[str, Scalar]:
    """Build the metadata: values are shortened, and empty ones left out."""
    texts = {
        key: " ".join(sanitize_text(str(value or "")).split()) for key, value in values.items()
    }
    return {key: text[:MAX_METADATA_CHARS] for key, text in texts.items() if text}


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark it begins with.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(raw: bytes, encoding: str = "utf-8") -> str:
    """Decode a text. `encoding`: used unless there is a byte order mark.

    Raises:
        InvalidArguments: it has another encoding; the sentence continues from the file name.
    """
    skip = 0
    for mark, marked_encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            encoding, skip = marked_encoding, len(mark)
            break
    try:
        text = raw[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidArguments(
            f"is not {encoding.upper()}: byte {error.start + skip} is wrong; save it as UTF-8"
        ) from error
    if "\0" in text:
        raise InvalidArguments("is not text: it contains NUL characters, as binary files do")
    return text


def parse_text(content: bytes) -> LoadedText:
    """Parse a plain text. Raises InvalidArguments; the sentence continues from the file name."""
    return LoadedText(text=decode_text(content))


_LOOKS_LIKE_MARKUP = re.compile(r"^( {0,3})(#{1,6}[ \t]|```|~~~|={2,}[ \t]*$|-{2,}[ \t]*$)", re.M)
MAX_HEADING_CHARS = 200


def markdown_heading(title: str, level: int) -> str:
    """Markdown of a heading; empty for a title without a word."""
    words = " ".join(title.split())[:MAX_HEADING_CHARS]
    return f"{'#' * min(max(level, 1), 6)} {words}" if words else ""


def escape_markdown(text: str) -> str:
    """Escape lines that Markdown would take for a heading, an underline or a fence."""
    return _LOOKS_LIKE_MARKUP.sub(r"\1\\\2", text)


def markdown_table_row(cells: list[str]) -> str:
    """Markdown of a table row; empty if all its cells are empty."""
    words = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(words)} |" if any(words) else ""


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
