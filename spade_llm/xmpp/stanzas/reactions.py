"""Message reactions codec (XEP-0444)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from spade_llm.xmpp.stanzas.message import MAX_NAME_CHARS
from spade_llm.xmpp.stanzas.namespaces import FALLBACK

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAMESPACE = "urn:xmpp:reactions:0"
MAX_REACTIONS = 20
"""Maximum number of reactions of a person to a message; the first are kept."""
MAX_CHARS = 16
"""Maximum length of a reaction in characters; an emoji may have several."""
REACTIONS = f"{{{NAMESPACE}}}reactions"
_REACTION = f"{{{NAMESPACE}}}reaction"
_FALLBACK = f"{{{FALLBACK}}}fallback"
_UNREAD = frozenset({"error", "groupchat", "headline"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReactions:
    """Complete set of a person's current reactions to a message; it replaces earlier ones."""

    message_id: str
    emojis: frozenset[str]
    is_alone: bool
    """False: the message says something else, too."""


def read_reactions(xml: Element) -> MessageReactions | None:
    """Read the reactions to a message; None without any, without a valid message id, or in a
    room."""
    found = xml.find(REACTIONS)
    if found is None or xml.get("type") in _UNREAD:
        return None
    message_id = found.get("id", "")
    if not message_id or len(message_id) > MAX_NAME_CHARS:
        return None
    texts = ((one.text or "").strip() for one in found.iterfind(_REACTION))
    emojis = frozenset(text for text in islice(texts, MAX_REACTIONS) if len(text) <= MAX_CHARS)
    return MessageReactions(message_id=message_id, emojis=emojis, is_alone=not _has_words(xml))


def _has_words(xml: Element) -> bool:
    """A body for clients that know no reactions (XEP-0428) is none of ours."""
    marked = xml.iterfind(_FALLBACK)
    is_fallback = any(one.get("for") == NAMESPACE for one in marked)
    return bool(xml.findtext("{jabber:client}body")) and not is_fallback
