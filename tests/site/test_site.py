"""The site leaves nothing out, and its link checker finds what is broken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import spade_llm
from spade_llm.cli.command_line import build_parser
from tests.site import staging
from tests.site.links import broken_links
from tests.site.reference import API_PACKAGES, commands_page, http_page, settings_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIGURATION = yaml.safe_load((staging.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    staging.stage(folder)
    return folder


def pages_in(nav: Any) -> Iterator[str]:
    """Paths of a navigation, in its order."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from pages_in(part)


def test_every_page_stands_once_in_the_navigation(staged: Path) -> None:
    pages = {path.relative_to(staged).as_posix() for path in staged.rglob("*.md")}
    named = Counter(pages_in(CONFIGURATION["nav"]))

    assert set(named) == {page for page in pages if not page.startswith(f"{staging.SOURCE}/")}
    assert [page for page, count in named.items() if count > 1] == []


def test_every_public_name_is_in_the_python_reference(staged: Path) -> None:
    pages = "".join(path.read_text() for path in (staged / "reference" / "api").glob("*.md"))

    assert [name for name in spade_llm.__all__ if f".{name}\n" not in pages] == []
    assert {path.stem for path in (staged / "reference" / "api").glob("*.md")} == {
        package or "spade_llm" for package in API_PACKAGES
    }


def test_every_command_is_in_the_reference() -> None:
    (commands,) = (one for one in build_parser()._actions if one.dest == "command")
    page = commands_page()

    assert commands.choices
    assert [name for name in commands.choices if f"## spade-llm {name}" not in page] == []
    assert "| `--data DIR` |" in page


def test_keys_stand_below_their_tables_with_default_and_bounds() -> None:
    page = settings_page()

    assert "## `[limits.peer]`" in page
    assert "## `[[rooms]]`" in page
    assert "## `[mcp.NAME]`" in page
    assert "| `tool_rounds` | `integer, ≥ 1, ≤ 20` | `5` |" in page


def test_http_operations_name_their_bodies_and_statuses() -> None:
    page = http_page()

    assert "### POST /llm/chat" in page
    assert "### GET /v1/models" in page
    assert "#httpchatrequest)" in page


def test_links_out_of_the_pages_lead_to_pages_of_source_files(staged: Path) -> None:
    terminology = (staged / "terminology.md").read_text(encoding="utf-8")

    assert "](source/spade_llm/messaging/message.py.md)" in terminology
    source = staged / "source" / "spade_llm" / "messaging" / "message.py.md"
    assert "class AclMessage" in source.read_text(encoding="utf-8")


def test_a_link_to_a_file_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "page.md").write_text("[gone](gone.md)\n", encoding="utf-8")
    monkeypatch.setattr(staging, "ROOT", tmp_path)
    monkeypatch.setattr(staging, "DOCS", docs)
    monkeypatch.setattr(staging, "HOME", {})

    with pytest.raises(FileNotFoundError, match=r"docs/page\.md links to gone\.md"):
        staging.stage(tmp_path / "staged")


def test_the_link_checker_finds_missing_pages_and_anchors(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="top"><a href="a/">a</a> <a href="#top">t</a> <a href="https://example.org/">e</a>'
        '<a href="a/#no">n</a> <img src="no.png"> <a href="../outside.txt">o</a>',
        encoding="utf-8",
    )
    (tmp_path / "a" / "index.html").write_text('<a href="../#top">up</a>', encoding="utf-8")

    assert broken_links(tmp_path) == [
        ("index.html", "../outside.txt"),
        ("index.html", "a/#no"),
        ("index.html", "no.png"),
    ]
