"""What the console's files may not contain and must, read from their text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from spade_llm.gateway.app import CONSOLE_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = sorted(CONSOLE_FOLDER.rglob("*.js"))
PAGES = sorted(
    path for kind in ("html", "css", "svg") for path in CONSOLE_FOLDER.rglob(f"*.{kind}")
)
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|setHTMLUnsafe"
    r"|document\.write|\beval\s*\(|new Function\b"
)
"""Ways to make markup or code of a text."""
NAME_OF_SVG = "http://www.w3.org/2000/svg"
ADDRESS = re.compile(r"""(?:https?:|["'(])//[\w.-]+[^\s"'`)]*""")
COMMENT = re.compile(r"^\s*(?://|\*|/\*).*$", re.MULTILINE)
INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=")
SAID = re.compile(r"""(?<![\w.])t\("([^"]+)\"""")


def named(path: Path) -> str:
    return path.relative_to(CONSOLE_FOLDER).as_posix()


def code_of(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def test_no_text_becomes_markup_or_code() -> None:
    found = {(named(path), way) for path in SCRIPTS for way in MARKUP.findall(code_of(path))}

    assert len(SCRIPTS) > 30
    assert found == set()


def test_nothing_comes_from_elsewhere() -> None:
    files = (*SCRIPTS, *PAGES)
    found = {(named(path), where) for path in files for where in ADDRESS.findall(code_of(path))}

    assert {(file, where) for file, where in found if where != NAME_OF_SVG} == set()


def test_the_page_has_nothing_inline() -> None:
    assert {
        named(path): INLINE.findall(code_of(path)) for path in CONSOLE_FOLDER.rglob("*.html")
    } == {"index.html": []}


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_every_text_that_is_said_is_there_in_both_languages(path: Path) -> None:
    tables = "".join(code_of(one) for one in (path, *_tables_of(path)))
    said = set(SAID.findall(code_of(path)))

    assert {key for key in said if len(_definitions(key, tables)) < 2} == set()


def _tables_of(path: Path) -> list[Path]:
    targets = re.findall(r'from "([^"]*texts\.js)"', code_of(path))
    return [(path.parent / target).resolve() for target in targets]


def _definitions(key: str, tables: str) -> list[str]:
    return re.findall(rf'(?<![\w."])"?{re.escape(key)}"?:', tables)
