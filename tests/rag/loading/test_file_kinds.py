"""What each kind of file becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import docx
import pytest
from fpdf import FPDF

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag import split
from spade_llm.rag.loading.chunking import heading_markup
from spade_llm.rag.loading.loader import FoundFile, Loader
from tests.rag.files import write_docx, write_drawing_pdf, write_encrypted_pdf, write_pdf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spade_llm.rag.contract import SourceDocument
    from spade_llm.rag.loading.chunking import Passage
    from spade_llm.rag.loading.text_files import LoadedText


@pytest.fixture
def loader(tmp_path: Path) -> Iterator[Loader]:
    with Loader([tmp_path]) as loader:
        yield loader


def _read(loader: Loader, name: str) -> LoadedText:
    (file,) = loader.find(name)
    assert isinstance(file, FoundFile)
    return loader.read(file)


def _passages(document: SourceDocument) -> list[Passage]:
    return list(split(document.text, markup=heading_markup(document.source, document.is_markdown)))


def test_the_pages_of_a_pdf_are_told_apart(loader: Loader, tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", [f"Page {n} is about heron {n}." for n in range(1, 6)], title="T")

    loaded = _read(loader, "a.pdf")

    assert [loaded.text[start:].partition(".")[0] for start in loaded.page_starts] == [
        f"Page {n} is about heron {n}" for n in range(1, 6)
    ]
    assert dict(loaded.metadata) == {"title": "T", "pages": 5}


def test_the_outline_of_a_pdf_gives_its_headings(loader: Loader, tmp_path: Path) -> None:
    write_pdf(
        tmp_path / "a.pdf", ["Birds fly.", "# 5 fish swim.", "Ants run."], headings={0: "A", 2: "C"}
    )

    document = _read(loader, "a.pdf").document("a.pdf", "default")

    found = [(passage.heading, passage.text) for passage in _passages(document)]
    assert found == [("A", "# A\n\nBirds fly.\n\n\\# 5 fish swim."), ("C", "# C\n\nAnts run.")]
    assert [document.text[start : start + 3] for start in document.page_starts] == [
        "# A",
        "\\# ",
        "# C",
    ]


def test_headings_of_one_page_stand_where_the_page_says_them(
    loader: Loader, tmp_path: Path
) -> None:
    pdf = FPDF()
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    for title in ("Herons", "Where they live", "Not on the page"):
        pdf.start_section(title, level=0 if title == "Herons" else 1)
    pdf.multi_cell(0, 6, "Before.\n1 Herons\nThey wade.\n1.2 Where they\nlive\nBy the lake.")
    pdf.output(str(tmp_path / "a.pdf"))

    assert _read(loader, "a.pdf").text.strip() == (
        "Before.\n\n# Herons\n\nThey wade.\n\n## Where they live\n\n## Not on the page\n\n"
        "By the lake."
    )


def test_a_scanned_pdf_says_that_it_has_no_text(loader: Loader, tmp_path: Path) -> None:
    write_drawing_pdf(tmp_path / "scan.pdf")

    with pytest.raises(
        InvalidArguments, match=r"'scan.pdf' has 1 pages of pictures without text.*OCR"
    ):
        _read(loader, "scan.pdf")


def test_a_pdf_with_a_password_says_so(loader: Loader, tmp_path: Path) -> None:
    write_encrypted_pdf(tmp_path / "locked.pdf", "secret", "open sesame")

    with pytest.raises(InvalidArguments, match="'locked.pdf' is an encrypted PDF"):
        _read(loader, "locked.pdf")


def test_a_pdf_encrypted_without_a_password_is_read(loader: Loader, tmp_path: Path) -> None:
    write_encrypted_pdf(tmp_path / "open.pdf", "Not secret.", "")

    assert "Not secret." in _read(loader, "open.pdf").text


def test_a_word_document_keeps_headings_lists_and_tables(loader: Loader, tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "Herons"
    document.add_heading("Where", 1)
    document.add_paragraph("# is a number sign.")
    document.add_paragraph("by the lake", style="List Bullet")
    document.add_paragraph("by the sea", style="List Number")
    document.add_heading("When", 2)
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["month", "count", "May", "7|8"], strict=True):
        cell.text = text
    document.save(str(tmp_path / "a.docx"))

    loaded = _read(loader, "a.docx")

    assert loaded.text == (
        "# Where\n\n\\# is a number sign.\n\n- by the lake\n- by the sea\n\n"
        "## When\n\n| month | count |\n| May | 7\\|8 |"
    )
    assert loaded.metadata["title"] == "Herons"
    headings = [one.heading for one in _passages(loaded.document("a.docx", "default"))]
    assert headings == ["Where", "Where > When"]


def test_a_web_page_is_its_text_without_menus_and_scripts(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<!doctype html><title>Herons &amp; co</title><style>p {}</style><nav>Menu</nav>"
        "<ul><li><svg/></ul>"
        "<h1>Where</h1><p>By the <b>lake</b>,\n or<br>the sea.<script>evil()</script></p>"
        "<ul><li>grey<li>white</ul><h2>When</h2><table><tr><th>month<th>count<tr><td>May<td>7"
        "</table><pre># no heading</pre><div># nor this<!-- hidden --></div>end"
    )

    loaded = _read(loader, "a.html")

    assert loaded.text == (
        "# Where\n\nBy the lake, or\nthe sea.\n\n- grey\n- white\n\n## When\n\n"
        "| month | count |\n| May | 7 |\n\n```\n# no heading\n```\n\n\\# nor this\n\nend"
    )
    assert dict(loaded.metadata) == {"title": "Herons & co"}


def test_a_page_laid_out_in_tables_is_read_as_text(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_text("<table><tr><td><p>One.</p><p>Two.</p></table>")

    assert _read(loader, "a.htm").text == "One.\n\nTwo."


def test_a_web_page_is_read_in_the_character_set_that_it_names(
    loader: Loader, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_bytes('<meta charset="latin-1"><p>caf\u00e9'.encode("latin-1"))

    assert _read(loader, "a.html").text == "caf\u00e9"


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "name,city\nAda,Paris\n,Oslo\n"), ("b.csv", "name;city\nAda;Paris\n;Oslo\n")],
)
def test_each_row_of_a_table_names_its_columns(
    loader: Loader, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)

    assert _read(loader, name).text == "name: Ada\ncity: Paris\n\ncity: Oslo\n\n"


def test_a_table_without_a_header_numbers_its_columns(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('1\t"two\nlines"\n3\t4\t5\n')

    assert _read(loader, "a.tsv").text == (
        "column 1: 1\ncolumn 2: two\nlines\n\ncolumn 1: 3\ncolumn 2: 4\ncolumn 3: 5\n\n"
    )


def test_json_values_come_with_their_paths(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"a": {"b": [1, 2.50, null, true]}, "users": [{"name": "Ada"}, {"name": "Bo"}]}'
    )

    assert _read(loader, "a.json").text == (
        "a.b: 1, 2.50, null, true\nusers[0].name: Ada\n\nusers[1].name: Bo\n\n"
    )


def test_each_line_of_json_lines_is_a_paragraph(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')

    assert _read(loader, "a.jsonl").text == "a: 1\n\na: 2\n\n"


@pytest.mark.parametrize("name", ["a.py", "a.toml", "a.log", "Makefile", "a.RS", "a.xml"])
def test_text_is_taken_as_it_is(loader: Loader, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# one\n\n  two\n")

    assert _read(loader, name).text == "# one\n\n  two\n"


def test_one_process_reads_all_files_and_ends_with_the_loader(
    loader: Loader, tmp_path: Path
) -> None:
    for number in range(5):
        write_docx(tmp_path / f"{number}.docx", "T", {"One": f"Text {number}."})

    texts = [loader.read(file).text for file in loader.find(".") if isinstance(file, FoundFile)]

    assert texts == [f"# One\n\nText {number}." for number in range(5)]
    assert loader.parser.started == 1
