"""Which of our messages a person replies to (XEP-0461): its words, for the model. Knows no stanza.

By its id, of those that this process has sent; else as the person's client quotes it, which is the
person's own word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, bare
from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage

MAX_MESSAGES = 2000
"""Of ours, to all people, in RAM: the oldest leaves first."""
MAX_CHARS = 500


class Replies:
    def __init__(self) -> None:
        self._texts: LruDict[tuple[str, str], str] = LruDict(MAX_MESSAGES)
        """By who got it (a bare JID) and its id."""

    def note(self, sent: AclMessage) -> None:
        """It, or what it replaces, may be replied to."""
        if sent.ontology != CHAT_TEXT:
            return
        for id in filter(None, (sent.said.corrects, sent.reply_with)):
            key = (bare(sent.receiver), id)
            self._texts[key] = sent.content[:MAX_CHARS]

    def replied_to(self, message: AclMessage) -> str:
        """Empty: it is no reply, or nobody knows to what."""
        if not message.in_reply_to:
            return ""
        text = self._texts.get((bare(message.sender), message.in_reply_to))
        return f"assistant: {text}" if text else message.said.quotes

    def forget(self, peer: str) -> None:
        for key in [key for key in self._texts if key[0] == peer]:
            del self._texts[key]
