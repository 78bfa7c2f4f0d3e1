"""References between messages: mentions (XEP-0372), replies (XEP-0461), reactions (XEP-0444)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote
from xml.sax.saxutils import quoteattr

from spade_llm.xmpp.stanzas.namespaces import FALLBACK, MAX_NAME_CHARS, REPLY

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.messaging import ChatMetadata

REFERENCES = "urn:xmpp:reference:0"
HOPS = "urn:spade-llm:rooms:1"
NAMESPACE = "urn:xmpp:reactions:0"
MAX_HOPS_READ = 1000
MAX_NICK_CHARS = 64
"""Maximum number of characters shown of a nick; servers allow 1023 bytes."""
MAX_QUOTED_CHARS = 500
"""Enough to know which message is meant."""
MAX_REACTIONS = 20
"""Maximum number of reactions of a person to a message; the first are kept."""
MAX_CHARS = 16
"""Maximum length of a reaction in characters; an emoji may have several."""
REACTIONS = f"{{{NAMESPACE}}}reactions"

_REACTION = f"{{{NAMESPACE}}}reaction"
_REFERENCE = f"{{{REFERENCES}}}reference"
_REPLY = f"{{{REPLY}}}reply"
_HOPS = f"{{{HOPS}}}hops"
_BLOCK = ("```", ">", "|", "- ", "* ", "#")
"""Markup that must stand at the beginning of a line (XEP-0393)."""
_FALLBACK = f"{{{FALLBACK}}}fallback"
_FALLBACK_BODY = f"{{{FALLBACK}}}body"
_UNREAD = frozenset({"error", "groupchat", "headline"})


def text_for_nick(nick: str, body: str) -> str | None:
    """Return the text addressed to this nick: by the nick at the beginning, which is removed, or by
    `@nick` anywhere outside a quotation. None if the nick is not addressed."""
    name = re.escape(nick)
    # Not where a longer name goes on: `Ann` is not meant by `Anna`, `Ann-Marie` or `Ann's`.
    front = re.match(rf"\s*@?{name}(?![\w'’-])\s*[,:;]?\s*", body, re.IGNORECASE)
    if front is not None:
        return body[front.end() :] or body
    own = "\n".join(line for line in body.split("\n") if not line.startswith(">"))
    is_named = re.search(rf"(?<![\w@.])@{name}(?![\w'’-])", own, re.IGNORECASE)
    return body if is_named else None


def is_mentioned(xml: Element, addresses: frozenset[str]) -> bool:
    """True if one of these JIDs is mentioned, or replied to."""
    uris = [
        unquote(one.get("uri", "").removeprefix("xmpp:").partition("?")[0])
        for one in xml.iterfind(_REFERENCE)
        if one.get("type") == "mention"
    ]
    reply = xml.find(_REPLY)
    replied = [reply.get("to", "")] if reply is not None else []
    return not addresses.isdisjoint([*uris, *replied])


def read_hops(xml: Element) -> int:
    """Return the stated number of program answers that led to a message; 0 if there is none."""
    said = xml.find(_HOPS)
    count = said.get("count", "") if said is not None else ""
    return min(int(count), MAX_HOPS_READ) if count.isdecimal() and len(count) <= 6 else 0


def with_mention(text: str, said: ChatMetadata) -> tuple[str, str]:
    """Text of a room message with the addressed nick in front, and the XML of the mention."""
    hops = f"<hops xmlns='{HOPS}' count={quoteattr(said.hops or '0')}/>"
    # Clients show an address as a file only where it is all that is said.
    if not said.nick or said.file:
        return text, hops
    nick = visible_nick(said.nick)
    uri = quoteattr(f"xmpp:{quote(said.room, safe='@')}/{quote(said.nick)}")
    mention = (
        f"<reference xmlns='{REFERENCES}' type='mention' begin='0' end='{len(nick)}' uri={uri}/>"
    )
    gap = "\n" if text.lstrip(" ").startswith(_BLOCK) else " "
    return f"{nick}:{gap}{text}", mention + hops


def visible_nick(nick: str) -> str:
    """Remove invisible and direction-changing characters from a nick, and truncate it: it is
    repeated in each answer, and in front of each line of talk."""
    return "".join(char for char in nick if char.isprintable())[:MAX_NICK_CHARS] or "?"


def without_quotation(xml: Element, body: str) -> tuple[str, str]:
    """Return the new text of a reply, and the text that it quotes. XEP-0428 marks the quotation,
    which is in the body for older clients."""
    for part in xml.iterfind(f"{_FALLBACK}[@for='{REPLY}']/{_FALLBACK_BODY}"):
        start, end = part.get("start", "0"), part.get("end", "0")
        # The length is checked before `int`: both are the sender's text.
        if start.isdecimal() and end.isdecimal() and len(start + end) < 12:
            said = body[: int(start)] + body[max(int(start), int(end)) :]
            quoted = body[int(start) : int(end)].strip().split("\n")
            lines = (line.removeprefix(">").strip() for line in quoted)
            return said, "\n".join(lines)[:MAX_QUOTED_CHARS]
    return body, ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReactions:
    """Complete set of a person's current reactions to a message; it replaces earlier ones."""

    message_id: str
    emojis: frozenset[str]
    is_alone: bool
    """False: the message says something else, too."""


def read_reactions(xml: Element) -> MessageReactions | None:
    """Read the reactions to a message; None: none, no valid message id, or in a room."""
    found = xml.find(REACTIONS)
    if found is None or xml.get("type") in _UNREAD:
        return None
    message_id = found.get("id", "")
    if not message_id or len(message_id) > MAX_NAME_CHARS:
        return None
    texts = ((one.text or "").strip() for one in found.iterfind(_REACTION))
    emojis = frozenset(text for text in islice(texts, MAX_REACTIONS) if len(text) <= MAX_CHARS)
    # A body that is marked as fallback (XEP-0428) is for clients that do not know reactions.
    is_fallback = any(one.get("for") == NAMESPACE for one in xml.iterfind(_FALLBACK))
    is_alone = is_fallback or not xml.findtext("{jabber:client}body")
    return MessageReactions(message_id=message_id, emojis=emojis, is_alone=is_alone)
