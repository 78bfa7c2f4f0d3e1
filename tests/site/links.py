"""Link checker of a built site: every link, picture and anchor inside it exists."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path


def broken_links(site: Path) -> list[tuple[str, str]]:
    """Links inside a site that lead nowhere, as (page, target). Links to other hosts are not
    followed."""
    return [
        (page.relative_to(site).as_posix(), target)
        for page in sorted(site.rglob("*.html"))
        # Its links are absolute below the site's address, which a folder does not have.
        if page.name != "404.html"
        for target in sorted(_Page.read(page).targets)
        if not _leads_somewhere(target, page, site)
    ]


def _leads_somewhere(target: str, page: Path, site: Path) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if path.is_dir():
        path /= "index.html"
    if not path.is_file() or not path.is_relative_to(site.resolve()):
        return False
    has_anchor = parts.fragment and path.suffix == ".html"
    return not has_anchor or unquote(parts.fragment) in _Page.read(path).anchors


class _Page(HTMLParser):
    """Targets and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = {"", "__top"}

    @staticmethod
    @cache
    def read(path: Path) -> _Page:
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.targets.add(value)
            elif name in {"id", "name"} and value:
                self.anchors.add(value)
