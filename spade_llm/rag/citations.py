"""How sources are named, and numbers in square brackets: kept in an answer where they name a
passage, made harmless in what a document says. Pure; knows no model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set

    from spade_llm.rag.retriever import Chunk

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_MARK = re.compile(r"\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")
_NUMBER = re.compile(r"\d+")
_TIGHT = re.compile(r"\[(\d+(?:\s*[,;]\s*\d+)*)\]")
_SPACE_BEFORE = re.compile(r"[ \t]+(?=\0)")


def place_of(chunk: Chunk) -> str:
    """`source, passage N`, as people and models are told everywhere, and the page if there is one.
    The first passage of a document is number 1."""
    page = f" (page {chunk.page})" if chunk.page is not None else ""
    return f"{chunk.source}, passage {chunk.index + 1}{page}"


def resolved(text: str, numbers: Set[int]) -> tuple[str, frozenset[int]]:
    """The answer with only those marks that name one of `numbers`, each as `[1]`, and which they
    are. Code is left alone."""
    cited: set[int] = set()

    def kept(mark: re.Match[str]) -> str:
        named = [int(number) for number in _NUMBER.findall(mark[0]) if _is_one(number, numbers)]
        cited.update(named)
        return "".join(f"[{number}]" for number in named) or "\0"

    parts = _CODE.split(text.replace("\0", ""))
    parts[::2] = [_MARK.sub(kept, part) for part in parts[::2]]
    return _SPACE_BEFORE.sub("", "".join(parts)).replace("\0", "").strip(), frozenset(cited)


def without_marks(text: str) -> str:
    """What a document says, so that no number in it can pass for a citation: `[9]` is `[ 9 ]`,
    which is the same to a reader, and in code."""
    return _TIGHT.sub(r"[ \1 ]", text)


def _is_one(number: str, numbers: Set[int]) -> bool:
    return len(number) < 5 and int(number) in numbers
