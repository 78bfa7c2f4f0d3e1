"""Encryption hint: tells the sender of an encrypted message that it cannot be read.

The plain body of an encrypted message is a notice of the sender's client, so it is not processed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from spade_llm.core.errors import RequestError
from spade_llm.core.limits import LruDict
from spade_llm.messaging import AclMessage, Encoding, Performative
from spade_llm.xmpp.connection.jids import is_jid
from spade_llm.xmpp.stanza_router import on_extension
from spade_llm.xmpp.stanzas.namespaces import MAX_NAME_CHARS, client_language

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

EVERY_S = 3600.0
"""Minimum interval between two hints in a conversation, in seconds."""
MAX_CONVERSATIONS = 4096
"""Maximum number of conversations with a remembered hint; an evicted one may be told sooner."""

HINTS = {
    "en": (
        "I cannot read encrypted messages. Please switch encryption ({}) off for this chat, and"
        " write it again."
    ),
    "es": (
        "No puedo leer mensajes cifrados. Desactiva el cifrado ({}) en este chat y escríbelo otra"
        " vez, por favor."
    ),
}

_ENCRYPTED = {
    "{eu.siacs.conversations.axolotl}encrypted": "OMEMO",
    "{urn:xmpp:omemo:1}encrypted": "OMEMO",
    "{urn:xmpp:omemo:2}encrypted": "OMEMO",
    "{urn:xmpp:openpgp:0}openpgp": "OpenPGP",
    "{jabber:x:encrypted}x": "OpenPGP",
}
_BODY = "{jabber:client}body"
_THREAD = "{jabber:client}thread"


class EncryptionHint:
    """Tells senders of encrypted messages that they cannot be read, once per hour."""

    def __init__(self, agent: XmppAgent, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent = agent
        self._clock = clock
        self._told: LruDict[tuple[str, str], float] = LruDict(MAX_CONVERSATIONS)
        """Time of the last hint, by bare JID and thread; the latest last."""
        agent.message_filters.append(on_extension(_ENCRYPTED, self._take))

    def _take(self, xml: Element) -> bool:
        kind = encryption_of(xml)
        if not kind or xml.get("type", "normal") not in ("chat", "normal"):
            return False
        # Keys that are exchanged without a text (XEP-0384 §5.5) are no message of a person.
        is_text = bool(xml.findtext(_BODY)) or any(
            part.tag.endswith("}payload") or (part.tag in _ENCRYPTED and part.text)
            for part in xml.iter()
        )
        if is_text and self._is_time(xml):
            self._agent.spawn(self._tell(xml, kind))
        return True

    def _is_time(self, xml: Element) -> bool:
        place, now = _conversation_key(xml), self._clock()
        told = self._told.get(place)
        if told is not None and now - told < EVERY_S:
            return False
        self._told[place] = now
        return is_jid(xml.get("from", ""))

    async def _tell(self, xml: Element, kind: str) -> None:
        try:
            await self._agent.send_acl(_hint_message(xml, kind))
        except RequestError as error:
            logger.warning("the encryption hint to %s was not sent: %s", xml.get("from"), error)


def encryption_of(xml: Element) -> str:
    """Return the name of the encryption of a message; empty if it is not encrypted."""
    return next((name for tag, name in _ENCRYPTED.items() if xml.find(tag) is not None), "")


def _conversation_key(xml: Element) -> tuple[str, str]:
    thread = xml.findtext(_THREAD) or ""
    return xml.get("from", "").partition("/")[0], thread[:MAX_NAME_CHARS]


def _hint_message(xml: Element, kind: str) -> AclMessage:
    return AclMessage(
        performative=Performative.NOT_UNDERSTOOD,
        sender="",
        receiver=xml.get("from", ""),
        content=HINTS[client_language(xml)].format(kind),
        conversation_id=_conversation_key(xml)[1],
        in_reply_to=xml.get("id", "")[:MAX_NAME_CHARS],
        encoding=Encoding.PLAIN,
    )
