"""Real files for the loaders' tests, made on the spot."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile

import docx
from fpdf import FPDF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def write_pdf(
    path: Path, pages: Sequence[str], *, headings: Mapping[int, str] | None = None, title: str = ""
) -> None:
    """`headings`: of the outline, by page from 0."""
    pdf = FPDF()
    pdf.set_font("helvetica", size=11)
    pdf.set_title(title)
    for number, text in enumerate(pages):
        pdf.add_page()
        if number in (headings or {}):
            pdf.start_section((headings or {})[number])
        pdf.multi_cell(0, 6, text)
    pdf.output(str(path))


def write_encrypted_pdf(path: Path, text: str, password: str) -> None:
    pdf = FPDF()
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    pdf.multi_cell(0, 6, text)
    pdf.set_encryption(owner_password="owner", user_password=password)
    pdf.output(str(path))


def write_drawing_pdf(path: Path) -> None:
    """A page without a letter, as a scanner makes it."""
    pdf = FPDF()
    pdf.add_page()
    pdf.rect(10, 10, 100, 100)
    pdf.output(str(path))


def write_docx(path: Path, title: str, sections: Mapping[str, str]) -> None:
    document = docx.Document()
    document.core_properties.title = title
    for heading, text in sections.items():
        document.add_heading(heading, 1)
        document.add_paragraph(text)
    document.save(str(path))


def with_part(docx_path: Path, name: str, content: bytes) -> None:
    """Put `content` in the place of a part of a .docx, or beside the others."""
    with ZipFile(docx_path) as packed:
        parts = {one: packed.read(one) for one in packed.namelist()}
    packed_again = BytesIO()
    with ZipFile(packed_again, "w", ZIP_DEFLATED) as packed:
        for one, data in {**parts, name: content}.items():
            packed.writestr(one, data)
    docx_path.write_bytes(packed_again.getvalue())
