"""Word documents (.docx) as text: headings, paragraphs, lists, tables."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from docx import Document as open_docx
from docx.opc.exceptions import PackageNotFoundError
from docx.text.paragraph import Paragraph
from lxml.etree import XMLSyntaxError

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text_files import (
    BoundedText,
    LoadedText,
    document_metadata,
    escape_markdown,
    markdown_heading,
    markdown_table_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docx.document import Document as Docx
    from docx.table import Table

MAX_PARTS = 10_000
MAX_UNPACKED_BYTES = 250_000_000
MAX_XML_BYTES = 60_000_000
"""Maximum total size of the XML parts in bytes; a parsed tree takes several times as much."""

_XML = (".xml", ".rels")
_HEADING = re.compile(r"heading ([1-9])$")
# OLE compound file: the old .doc format, and the container of an encrypted .docx.
_OLD_WORD = b"\xd0\xcf\x11\xe0"


def parse_docx(content: bytes) -> LoadedText:
    """Parse a Word document. Raises InvalidArguments; the sentence continues from the file name."""
    if content.startswith(_OLD_WORD):
        raise InvalidArguments(
            "is an encrypted or old Word file; save it as .docx without a password"
        )
    try:
        _check(content)
        document = open_docx(BytesIO(content))
    except (BadZipFile, PackageNotFoundError, XMLSyntaxError, KeyError, ValueError) as error:
        raise InvalidArguments("is a damaged .docx; open it and save it again") from error
    about = document.core_properties
    return LoadedText(
        text=_text_of(document),
        is_markdown=True,
        metadata=document_metadata({"title": about.title, "author": about.author}),
    )


def _check(content: bytes) -> None:
    with ZipFile(BytesIO(content)) as packed:
        members = packed.infolist()
        xml = [one for one in members if one.filename.lower().endswith(_XML)]
        # By the directory of the zip, before anything is unpacked.
        if (
            len(members) > MAX_PARTS
            or sum(one.file_size for one in members) > MAX_UNPACKED_BYTES
            or sum(one.file_size for one in xml) > MAX_XML_BYTES
        ):
            raise InvalidArguments(
                f"unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB, or to more than "
                f"{MAX_XML_BYTES // 1_000_000} MB of XML; it may be a zip bomb, and is not opened"
            )
        for one in xml:
            # Entities declared in a DTD can expand to gigabytes (billion laughs).
            if b"<!DOCTYPE" in packed.read(one)[:2000]:
                raise InvalidArguments("declares a DTD, which no word processor writes")


def _text_of(document: Docx) -> str:
    written = BoundedText()
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    was_list = False
    for block in document.iter_inner_content():
        is_list = isinstance(block, Paragraph) and _is_listed(block, styles)
        text = (
            _paragraph(block, styles)
            if isinstance(block, Paragraph)
            else "\n".join(filter(None, _rows(block)))
        )
        if text:
            written.add(("\n" if was_list and is_list else "\n\n") if written.length else "")
            written.add(text)
            was_list = is_list
    return str(written)


def _paragraph(paragraph: Paragraph, styles: dict[str, str]) -> str:
    style, text = _style(paragraph, styles), paragraph.text.strip()
    level = _HEADING.match(style)
    if level or style == "title":
        return markdown_heading(text, int(level[1]) if level else 1)
    return f"- {text}" if text and _is_listed(paragraph, styles) else escape_markdown(text)


def _is_listed(paragraph: Paragraph, styles: dict[str, str]) -> bool:
    properties = paragraph._p.pPr
    is_numbered = properties is not None and properties.numPr is not None
    return is_numbered or _style(paragraph, styles).startswith("list")


def _style(paragraph: Paragraph, styles: dict[str, str]) -> str:
    # `paragraph.style` searches all styles each time: quadratic in a crafted file.
    return styles.get(paragraph._p.style or "", "")


def _rows(table: Table) -> Iterator[str]:
    for line in table.rows:
        # A merged cell comes once per column that it covers.
        cells = {id(cell._tc): cell.text for cell in line.cells}
        yield markdown_table_row(list(cells.values()))
