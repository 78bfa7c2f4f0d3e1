"""Two definitions of a tool beside each other, as lines for a terminal. Pure."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from spade_llm.tools.mcp.cleaning import revealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_WIDTH = 60


def side_by_side(old: str | None, new: str, *, width: int) -> list[str]:
    """Old left, new right; `|` marks lines that differ, `>` and `<` those on one side only."""
    column = (max(width, MIN_WIDTH) - 3) // 2
    left = [] if old is None else _lines(old, column)
    right = _lines(new, column)
    return [f"{one:{column}} {mark} {other}".rstrip() for one, mark, other in _pairs(left, right)]


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d]):
            if kind == "equal":
                yield one, " ", other
            else:
                mark = ">" if one is None else "<" if other is None else "|"
                yield one or "", mark, other or ""


def _lines(definition: str, column: int) -> list[str]:
    parts = json.loads(definition)
    words = revealed(str(parts.pop("description", "")))
    found = ["description:", *_wrapped(words, column - 2)]
    rest = json.dumps(parts, indent=1, ensure_ascii=False, sort_keys=True)
    return [
        piece for line in (*found, *revealed(rest).splitlines()) for piece in _cut(line, column)
    ]


def _wrapped(text: str, column: int) -> list[str]:
    return [f"  {line}" for part in text.splitlines() for line in wrap(part, column) or [""]]


def _cut(line: str, column: int) -> list[str]:
    return [line[at : at + column] for at in range(0, len(line), column)] or [""]
