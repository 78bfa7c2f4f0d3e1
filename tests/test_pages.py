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
OTHER_PROGRAMS = {"ReadWriteMany"}
"""Names of Kubernetes and the like, spelt as a class."""
GENERATED = {"wire-reference.md", "session.md"}

PYTHON_FILE = re.compile(r"(?<![\w/*-])[\w./]+\.py\b")
CLASS_OR_CALL = re.compile(r"(?<![\w.-])(?:[A-Z][a-z]+(?:[A-Z]\w*)+|\w+(?=\(\)))")


def test_each_python_file_that_a_page_names_exists() -> None:
    """A name without its folder is that of a file in a folder that the page names."""
    existing = {f"/{path.relative_to(ROOT).as_posix()}" for path in _python_files()}
    unknown = []
    for page, text in _written_pages().items():
        named = {path.removeprefix("../") for path in PYTHON_FILE.findall(text)}
        places = {path: [file for file in existing if file.endswith(f"/{path}")] for path in named}
        folders = {
            file.rpartition("/")[0] for path in named if "/" in path for file in places[path]
        }
        for folder in re.findall(r"`([\w./]+?)/?`", text):
            folders |= {
                above
                for file in existing
                if (above := file.rpartition("/")[0]).endswith(f"/{folder}")
            }
        unknown += [
            (page, path)
            for path, files in places.items()
            if path not in OWN_FILES_OF_READERS
            # Files that the reader of a tutorial writes.
            and f'title="{path}"' not in text
            and not any("/" in path or file.rpartition("/")[0] in folders for file in files)
        ]

    assert unknown == []


def test_each_class_and_function_that_a_page_names_exists() -> None:
    texts = [path.read_text("utf-8") for path in _python_files()]
    scripts = (ROOT / "spade_llm" / "gateway" / "console").rglob("*.js")
    known = {
        word
        for text in (*texts, *(path.read_text("utf-8") for path in scripts))
        for word in re.findall(r"\w+", text)
    }

    assert [
        (page, name)
        for page, text in _written_pages().items()
        for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        for name in CLASS_OR_CALL.findall(code)
        if name not in known | OTHER_PROGRAMS
    ] == []


def test_every_page_stands_once_in_the_navigation() -> None:
    """Generated pages are compared by tests/site."""
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    named = Counter(re.findall(r"'([\w./-]+\.md)'", str(navigation)))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert pages - set(named) == set(), "add it to nav in mkdocs.yml"
    assert [page for page, count in named.items() if count > 1] == []


def _written_pages() -> dict[str, str]:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED]
    return {
        page.relative_to(ROOT).as_posix(): page.read_text("utf-8")
        for page in (ROOT / "README.md", *pages)
    }


def _python_files() -> list[Path]:
    folders = ("spade_llm", "tests", "bench", "examples", "docker", "agents")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
