"""Which kinds of files are read, by the ends of their names. Knows no content."""

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


class Kind(StrEnum):
    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSON_LINES = "jsonl"


_KINDS: dict[str, Kind] = {
    **{f".{suffix}": Kind.TEXT for suffix in f"{_TEXT} {_SETTINGS} {_CODE}".split()},
    ".html": Kind.HTML,
    ".htm": Kind.HTML,
    ".xhtml": Kind.HTML,
    ".pdf": Kind.PDF,
    ".docx": Kind.DOCX,
    ".csv": Kind.CSV,
    ".tsv": Kind.TSV,
    ".json": Kind.JSON,
    ".jsonl": Kind.JSON_LINES,
    ".ndjson": Kind.JSON_LINES,
}
CODE_SUFFIXES = frozenset(f".{suffix}" for suffix in _CODE.split())
PACKED = frozenset({Kind.PDF, Kind.DOCX})
"""Their size says little about how much text they hold: pictures and fonts count too."""


def kind_of(name: str) -> Kind | None:
    """None: not read."""
    path = PurePath(name)
    if path.name.lower() in _NAMES:
        return Kind.TEXT
    return _KINDS.get(path.suffix.lower())


def not_read(name: str) -> str:
    """Why a file of this name is left out; the sentence goes on from the name."""
    suffix = PurePath(name).suffix
    kind = f"a kind of file that is not read ({suffix})" if suffix else "without an ending"
    return (
        f"{kind}; these are: .txt, .md, .rst, .log, .html, .pdf, .docx, .csv, .tsv, .json, "
        ".jsonl, settings (.toml, .yaml, …) and source code"
    )
