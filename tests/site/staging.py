"""Staging of the documentation site: the pages of docs/ and what they link to outside of it.

The site stands alone: the README becomes its home page, and each source file that a page links to
becomes a page, too.
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from os.path import normpath, relpath
from pathlib import Path
from typing import TYPE_CHECKING

from tests.site.reference import reference_pages

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STAGED = ROOT / "build" / "site" / "docs"
SOURCE = "source"
"""Folder of the pages of source files."""
HOME = {"README.md": "index.md", "README.es.md": "es.md", "CHANGELOG.md": "changelog.md"}
"""Pages outside of docs/, and their places in the site."""

_LINK = re.compile(r"(?P<head>!?\[[^\]]*\]\()(?P<target>[^)\s#]*)(?P<tail>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?:```|~~~)")
_LANGUAGES = {".py": "python", ".toml": "toml", ".md": "markdown", ".yaml": "yaml", ".sh": "sh"}


def stage(folder: Path) -> None:
    """Write all pages of the site, with its pictures, into an empty folder.

    Raises:
        FileNotFoundError: a page links to a file that does not exist.
    """
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.md"))
    for page, text in _pages():
        _write(folder / page, text)
    for page, text in reference_pages():
        _write(folder / page, text)
    for path in sorted(_linked_sources()):
        _write(folder / _source_page(path), _source_text(path))


def _pages() -> Iterable[tuple[str, str]]:
    """Written pages, as (path in the site, text with links that hold there)."""
    for name, page in HOME.items():
        yield page, _with_links(ROOT / name, page)
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        yield page, _with_links(path, page)


def _with_links(path: Path, page: str) -> str:
    """The text of a file, its links relative to its place in the site."""
    lines = []
    is_code = False
    for line in path.read_text(encoding="utf-8").splitlines():
        is_code ^= bool(_FENCE.match(line))
        lines.append(line if is_code else _LINK.sub(partial(_relinked, path, page), line))
    return "\n".join(lines) + "\n"


def _relinked(path: Path, page: str, link: re.Match[str]) -> str:
    target, tail = link["target"], link["tail"] or ""
    if not target or re.match(r"[a-z]+:", target):
        return link[0]
    place = _place_in_site(_repository_path(path, target))
    return f"{link['head']}{relpath(place, Path(page).parent)}{tail})"


def _repository_path(path: Path, target: str) -> str:
    """The file of the repository that a link leads to. Raises FileNotFoundError."""
    inside = Path(normpath(path.parent / target)).relative_to(ROOT).as_posix()
    if not (ROOT / inside).exists():
        raise FileNotFoundError(f"{path.relative_to(ROOT)} links to {target}, which is not there")
    return inside


def _place_in_site(path: str) -> str:
    if path in HOME:
        return HOME[path]
    inside = path.removeprefix("docs/")
    return inside if path != inside else _source_page(path)


def _source_page(path: str) -> str:
    return f"{SOURCE}/{path}.md"


def _linked_sources() -> set[str]:
    """Files outside of docs/ that pages link to; they are shown as they are."""
    pages = [*(ROOT / name for name in HOME), *DOCS.rglob("*.md")]
    found = {
        _repository_path(path, link["target"])
        for path in pages
        for link in _LINK.finditer(_without_code(path.read_text(encoding="utf-8")))
        if link["target"] and not re.match(r"[a-z]+:", link["target"])
    }
    return {path for path in found if path not in HOME and not path.startswith("docs/")}


def _without_code(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


def _source_text(path: str) -> str:
    """Page of a source file, or of a folder with its files. It is left out of the search."""
    file = ROOT / path
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if file.is_dir():
        names = sorted(one.name for one in file.iterdir() if not one.name.startswith(("_", ".")))
        return head + "\n".join(f"- `{name}`" for name in names) + "\n"
    language = _LANGUAGES.get(file.suffix, "text")
    return f"{head}~~~~{language}\n{file.read_text(encoding='utf-8')}~~~~\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
