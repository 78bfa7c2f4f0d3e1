"""Check of docs/terminology.md: each term stands once, and its class is in the named file."""

from __future__ import annotations

import ast
import re

import pytest

from tests.cli.program import ROOT

PAGE = (ROOT / "docs" / "terminology.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| (?P<term>[^|]+) \| [^|]+ \| [^|]* \| (?:`(?P<name>\w+)` in )?"
    r"\[`(?P<shown>[\w/.]+)`\]\(\.\./spade_llm/(?P<path>[\w/.]+)\) \|$",
    re.MULTILINE,
)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE)]


def test_every_row_of_the_page_is_read_here() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]

    assert len(ROWS) == len([line for line in lines if not line.startswith("| term |")])


def test_a_term_stands_once() -> None:
    terms = [row["term"] for row in ROWS]

    assert [term for term in terms if terms.count(term) > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=[row["term"] for row in ROWS])
def test_the_class_of_a_term_is_in_the_named_file(row: dict[str, str | None]) -> None:
    path = ROOT / "spade_llm" / (row["path"] or "")

    assert row["shown"] == row["path"]
    assert path.is_file()
    if row["name"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert row["name"] in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
