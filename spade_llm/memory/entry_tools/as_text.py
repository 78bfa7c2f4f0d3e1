"""An answer as JSON that a model reads whole: fewer items rather than a text that is cut. Pure.

What an answer counts (`total`, `deleted_count`) stays as it was, and so says that there is more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_CHARS = 60_000
"""What a turn gives a model of one result."""
MORE = "…"


def as_text(answer: Mapping[str, object], max_chars: int = MAX_CHARS) -> str:
    """At most `max_chars`, if items or the text of one memory are what is long."""
    text = _json(answer)
    if len(text) <= max_chars:
        return text
    name = max(answer, key=lambda one: _length(answer[one]))
    items = answer[name]
    if not isinstance(items, list):
        return _json(_shortened(answer, max_chars))
    room = max_chars - len(text) + _length(items)
    return _json(_with_page(answer, name, _first(items, room)))


def _first(items: Sequence[object], room: int) -> list[object]:
    """At least one, however long: who asks for the next page must come further."""
    kept: list[object] = []
    used = 2
    for item in items:
        used += _length(item) + 2
        if used > room:
            break
        kept.append(item)
    return kept or [_shortened(item, room - 4) for item in items[:1]]


def _shortened(item: object, room: int) -> object:
    """With less of its content, halved until it fits: JSON makes some texts longer."""
    while isinstance(item, dict) and _length(item) > room and len(item.get("content") or "") > 1:
        content = item["content"].removesuffix(MORE)
        item = {**item, "content": content[: len(content) // 2] + MORE}
    return item


def _with_page(answer: Mapping[str, object], name: str, items: list[object]) -> dict[str, object]:
    """A page is as long as what is shown, so that `offset` + `limit` is where the next begins."""
    page = {"limit": len(items)} if "limit" in answer else {}
    return {**answer, name: items, **page}


def _length(value: object) -> int:
    return len(_json(value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
