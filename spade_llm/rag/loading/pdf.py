"""PDF files as text: pages, with the outline as headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import Destination

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text_files import (
    BoundedText,
    LoadedText,
    document_metadata,
    escape_markdown,
    markdown_heading,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_PAGES = 20_000
MAX_HEADINGS = 5_000
MAX_TITLE_WORDS = 40


@dataclass(frozen=True, slots=True)
class _Heading:
    markdown: str
    line: re.Pattern[str]


def parse_pdf(content: bytes) -> LoadedText:
    """Parse a PDF. Raises InvalidArguments; the sentence continues from the file name."""
    try:
        return _loaded(PdfReader(BytesIO(content)))
    except PyPdfError as error:
        raise InvalidArguments(f"is a damaged PDF ({_short(error)}); export it again") from error


def _loaded(reader: PdfReader) -> LoadedText:
    # An empty password opens PDFs that are encrypted only to restrict printing or copying.
    if reader.is_encrypted and not reader.decrypt(""):
        raise InvalidArguments("is an encrypted PDF; save a copy of it without a password")
    if len(reader.pages) > MAX_PAGES:
        raise InvalidArguments(f"has more than {MAX_PAGES} pages; split it")
    headings = _headings(reader)
    text, starts = _text_of(reader, headings)
    about = reader.metadata
    return LoadedText(
        text=text,
        page_starts=starts,
        is_markdown=bool(headings),
        metadata={
            **document_metadata({"title": about and about.title, "author": about and about.author}),
            "pages": len(starts),
        },
    )


def _text_of(reader: PdfReader, headings: dict[int, list[_Heading]]) -> tuple[str, tuple[int, ...]]:
    written, starts, has_text = BoundedText(), [], False
    for number, page in enumerate(reader.pages):
        starts.append(written.length)
        text = page.extract_text().strip()
        has_text = has_text or bool(text)
        # On each page: a line of program text must not be a heading on one page and none on others.
        page_text = _with_headings(text, headings.get(number, [])) if headings else text
        written.add(f"{page_text}\n\n")
    if not has_text:
        raise InvalidArguments(
            f"has {len(starts)} pages of pictures without text; run text recognition (OCR) on it"
            " first"
        )
    return str(written), tuple(starts)


def _with_headings(text: str, headings: Sequence[_Heading]) -> str:
    """Insert the headings in the place of the lines with their titles; a heading without such a
    line comes before the rest of the text."""
    parts, rest = [], text
    for one in headings:
        line = one.line.search(rest)
        before, rest = (rest[: line.start()], rest[line.end() :]) if line else ("", rest)
        parts += [escape_markdown(before.strip()), one.markdown]
    return "\n\n".join(filter(None, [*parts, escape_markdown(rest.strip())]))


def _headings(reader: PdfReader) -> dict[int, list[_Heading]]:
    """Read the outline as headings, keyed by page number from 0."""
    found: dict[int, list[_Heading]] = {}
    for (entry, level), _ in zip(_outline(reader.outline, 1), range(MAX_HEADINGS), strict=False):
        page = reader.get_destination_page_number(entry)
        markdown = markdown_heading(entry.title or "", level)
        if page is not None and page >= 0 and markdown:
            # The title on a line of its own, numbered or not; long ones span several lines.
            words = r"\s+".join(map(re.escape, (entry.title or "").split()[:MAX_TITLE_WORDS]))
            line = rf"^[ \t]*(?:[\dA-Z][\d.]*[ \t]+)?{words}[ \t]*$"
            found.setdefault(page, []).append(_Heading(markdown, re.compile(line, re.MULTILINE)))
    return found


def _outline(entries: Sequence[object], level: int) -> Iterator[tuple[Destination, int]]:
    for entry in entries:
        if isinstance(entry, list):
            yield from _outline(entry, level + 1)
        elif isinstance(entry, Destination):
            yield entry, level


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:100] or type(error).__name__
