"""Which parser reads which kind. Each is imported when its first file comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.rag.loading.kinds import Kind

if TYPE_CHECKING:
    from spade_llm.rag.loading.text import LoadedText


def parsed(kind: Kind, content: bytes) -> LoadedText:
    """Raises InvalidArguments; the sentence goes on from the file's name."""
    if kind in (Kind.PDF, Kind.DOCX):
        return _document(kind, content)
    if kind is Kind.HTML:
        from spade_llm.rag.loading.html import parse_html

        return parse_html(content)
    if kind in (Kind.CSV, Kind.TSV):
        from spade_llm.rag.loading.csv_rows import parse_csv

        return parse_csv(content, delimiter="\t" if kind is Kind.TSV else None)
    return _json_or_text(kind, content)


def _document(kind: Kind, content: bytes) -> LoadedText:
    if kind is Kind.PDF:
        from spade_llm.rag.loading.pdf import parse_pdf

        return parse_pdf(content)
    from spade_llm.rag.loading.docx import parse_docx

    return parse_docx(content)


def _json_or_text(kind: Kind, content: bytes) -> LoadedText:
    if kind is Kind.TEXT:
        from spade_llm.rag.loading.plain import parse_text

        return parse_text(content)
    from spade_llm.rag.loading.json_lines import parse_json, parse_json_lines

    return parse_json(content) if kind is Kind.JSON else parse_json_lines(content)
