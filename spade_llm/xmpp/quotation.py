"""What a reply (XEP-0461) repeats of the message that it answers, told from what it says. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.xmpp.namespaces import FALLBACK, REPLY

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_QUOTED_CHARS = 500
"""Enough to know which message is meant."""

_FALLBACK = f"{{{FALLBACK}}}fallback"
_FALLBACK_BODY = f"{{{FALLBACK}}}body"


def without_quotation(xml: Element, body: str) -> tuple[str, str]:
    """What was said itself, and what it quotes: the other's words stand there for older clients,
    and XEP-0428 says where."""
    for part in xml.iterfind(f"{_FALLBACK}[@for='{REPLY}']/{_FALLBACK_BODY}"):
        start, end = part.get("start", "0"), part.get("end", "0")
        if start.isdecimal() and end.isdecimal() and len(start + end) < 12:
            said = body[: int(start)] + body[max(int(start), int(end)) :]
            return said, _unmarked(body[int(start) : int(end)])
    return body, ""


def _unmarked(quotation: str) -> str:
    """Without the `>` before each line."""
    lines = (line.removeprefix(">").strip() for line in quotation.strip().split("\n"))
    return "\n".join(lines)[:MAX_QUOTED_CHARS]
