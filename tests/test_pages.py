"""Pages name files that exist, and stand in the navigation of the site."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import yaml

from tests.cli.program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

OWN_FILES_OF_READERS = {"file.py", "my_tools.py", "my_old_program.py"}
"""Names that stand for a reader's own file."""
GENERATED = {"wire-reference.md", "session.md"}


def test_each_python_file_that_a_page_names_exists() -> None:
    existing = {f"/{path.relative_to(ROOT).as_posix()}" for path in _python_files()}
    written = [page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED]
    texts = {page.name: page.read_text("utf-8") for page in (ROOT / "README.md", *written)}
    named = {
        (name, path.removeprefix("../"))
        for name, text in texts.items()
        for path in re.findall(r"(?<![\w/*-])[\w./]+\.py\b", text)
        # Files that the reader of a tutorial writes.
        if f'title="{path}"' not in text
    }

    assert [
        (page, path)
        for page, path in sorted(named)
        if path not in OWN_FILES_OF_READERS
        and not any(file.endswith(f"/{path}") for file in existing)
    ] == []


def test_every_page_stands_once_in_the_navigation() -> None:
    """Generated pages are compared by tests/site."""
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    named = Counter(re.findall(r"'([\w./-]+\.md)'", str(navigation)))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert pages - set(named) == set(), "add it to nav in mkdocs.yml"
    assert [page for page, count in named.items() if count > 1] == []


def _python_files() -> list[Path]:
    folders = ("spade_llm", "tests", "bench", "examples", "docker", "agents")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
