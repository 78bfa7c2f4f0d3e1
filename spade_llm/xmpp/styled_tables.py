"""A Markdown table to text for a chat client: columns if it is narrow, else a list. Pure."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from spade_llm.xmpp.styled_spans import plain, styled_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_WIDTH = 44
"""Of a line that a telephone shows without breaking it."""

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_BORDER = re.compile(r"(?<!\\)\|")


def is_rule_of_table(line: str) -> bool:
    """The line between head and rows."""
    return "|" in line and _RULE.fullmatch(line) is not None


def styled_table(lines: Sequence[str]) -> Iterator[str]:
    """`lines`: the head and the rows."""
    rows = [_cells(line) for line in lines]
    texts = [[plain(cell).replace("`", "") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip_longest(*texts, fillvalue="")]
    if sum(widths) + 2 * len(widths) <= MAX_WIDTH:
        return _columns(texts, widths)
    return _list(rows[0], rows[1:])


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _BORDER.split(inner)]


def _columns(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Of one width for each character: as code."""
    yield "```"
    for number, row in enumerate(rows):
        if number == 1:
            yield "  ".join("-" * width for width in widths).rstrip()
        yield "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=False)
        ).rstrip()
    yield "```"


def _list(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"*{' | '.join(map(plain, head))}*"
    for row in rows:
        pairs = zip_longest(head, row, fillvalue="")
        named = (f"{plain(name)}: {styled_spans(cell)}" if name else cell for name, cell in pairs)
        yield f"- {'; '.join(named)}"
