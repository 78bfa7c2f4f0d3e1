"""File kinds that can be read, by suffix."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath

_TEXT = "txt text md markdown log rst adoc org tex srt vtt"
_SETTINGS = "toml yaml yml ini cfg conf properties xml"
_CODE = (
    "py pyi js mjs cjs jsx ts tsx java kt kts scala groovy c h cc cpp cxx hh hpp cs m mm go rs "
    "rb php swift dart lua pl pm r jl hs ml ex exs erl clj lisp el vue svelte css scss less "
    "sh bash zsh fish ps1 bat sql graphql proto tf cmake mk gradle"
)
_NAMES = frozenset(
    {"makefile", "dockerfile", "readme", "license", "licence", "changelog", "notice"}
)
"""Text files that usually have no ending."""


class FileKind(StrEnum):
    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSON_LINES = "jsonl"


_KIND_BY_SUFFIX: dict[str, FileKind] = {
    **{f".{suffix}": FileKind.TEXT for suffix in f"{_TEXT} {_SETTINGS} {_CODE}".split()},
    ".html": FileKind.HTML,
    ".htm": FileKind.HTML,
    ".xhtml": FileKind.HTML,
    ".pdf": FileKind.PDF,
    ".docx": FileKind.DOCX,
    ".csv": FileKind.CSV,
    ".tsv": FileKind.TSV,
    ".json": FileKind.JSON,
    ".jsonl": FileKind.JSON_LINES,
    ".ndjson": FileKind.JSON_LINES,
}
CODE_SUFFIXES = frozenset(f".{suffix}" for suffix in _CODE.split())
BINARY_KINDS = frozenset({FileKind.PDF, FileKind.DOCX})
"""Their size says little about how much text they hold: pictures and fonts count too."""


def file_kind(name: str) -> FileKind | None:
    """Return the kind by the name of the file; None if it is not supported."""
    path = PurePath(name)
    if path.name.lower() in _NAMES:
        return FileKind.TEXT
    return _KIND_BY_SUFFIX.get(path.suffix.lower())


def unsupported_reason(name: str) -> str:
    """Explain to the user why a file of this name is skipped; the sentence continues from the file
    name."""
    suffix = PurePath(name).suffix
    kind = f"a kind of file that is not read ({suffix})" if suffix else "without an ending"
    return (
        f"{kind}; these are: .txt, .md, .rst, .log, .html, .pdf, .docx, .csv, .tsv, .json, "
        ".jsonl, settings (.toml, .yaml, …) and source code"
    )
