"""A person's telephone without a screen: what a chat client does, and what it would show.

It says that it is Dino: in clients of that name answers grow (docs/design/manners.md).
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import httpx

from spade_llm.xmpp.connection.settings import tls_context
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import Endpoint

CORRECT = "urn:xmpp:message-correct:0"
UPLOAD = "urn:xmpp:http:upload:0"
PATIENCE_S = 30.0


class Phone(Client):
    """Shows one bubble for a message and all of its corrections, as people's clients do."""

    def __init__(self, jid: str, password: str, endpoint: Endpoint) -> None:
        super().__init__(jid, password)
        self._endpoint = endpoint
        self._numbers = count(1)

    async def begin(self) -> Phone:
        await self.log_in(self._endpoint, is_available=False)
        # slixmpp keeps what is announced by the full JID, which is new with each connection.
        disco = self.xmpp["xep_0030"]
        disco.add_feature(CORRECT, jid=self.jid)
        self.xmpp.register_plugin("xep_0092", {"software_name": "Dino", "version": "0.4"})
        disco.add_identity(category="client", itype="phone", jid=self.jid)
        await self.become_available()
        return self

    async def add_contact(self, jid: str) -> str:
        """Subscribe; return the status line that is seen then."""
        self.xmpp.send_presence(pto=jid, ptype="subscribe")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                presence = await self.presences.get()
                if presence["from"].bare == jid and presence["type"] in _SHOWN:
                    return str(presence["status"])

    async def card_name(self, jid: str) -> str:
        """Of the contact's vCard (XEP-0054)."""
        card = await self._asked(jid, "get", "<vCard xmlns='vcard-temp'/>")
        return str(card.findtext(".//{vcard-temp}FN"))

    def says(self, to: str, text: str, *, corrects: str = "", more: str = "") -> str:
        """Return the message's id."""
        number = f"phone-{next(self._numbers)}"
        replace = f"<replace xmlns='{CORRECT}' id='{corrects}'/>" if corrects else ""
        self.send_raw(
            f"<message type='chat' to={quoteattr(to)} id='{number}'>"
            f"<body>{escape(text)}</body>{replace}{more}</message>"
        )
        return number

    async def shares(self, to: str, path: Path) -> None:
        """Upload a file (XEP-0363), and send its address (XEP-0066)."""
        url = escape(await self.upload(path))
        self.says(to, url, more=f"<x xmlns='jabber:x:oob'><url>{url}</url></x>")

    def reacts(self, to: str, message_id: str, emoji: str) -> None:
        """XEP-0444."""
        self.send_raw(
            f"<message type='chat' to={quoteattr(to)} id='phone-{next(self._numbers)}'>"
            f"<reactions xmlns='urn:xmpp:reactions:0' id={quoteattr(message_id)}>"
            f"<reaction>{emoji}</reaction></reactions></message>"
        )

    async def sees_grow(self) -> Any:
        """The next message with words, though they be a beginning."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self.messages.get()
                if message["body"]:
                    return message

    async def hears(self) -> Any:
        """The next message with words that is kept: whether an answer has grown before depends on
        how fast it was made."""
        while True:
            message = await self.sees_grow()
            if message.xml.find("{urn:xmpp:hints}no-store") is None:
                return message

    async def grown(self, bubble: str) -> str:
        """The text of this bubble when all of it is there."""
        message = await self.hears()
        assert message.xml.find(f"{{{CORRECT}}}replace").get("id") == bubble
        return str(message["body"])

    async def upload(self, path: Path) -> str:
        """Upload a file (XEP-0363); return its address."""
        content = await asyncio.to_thread(path.read_bytes)
        slot = await self._asked(
            f"upload.{self.xmpp.boundjid.domain}",
            "get",
            f"<request xmlns='{UPLOAD}' filename={quoteattr(path.name)} size='{len(content)}'/>",
        )
        put, get = slot.find(f".//{{{UPLOAD}}}put"), slot.find(f".//{{{UPLOAD}}}get")
        headers = {one.get("name"): one.text for one in put}
        async with httpx.AsyncClient(verify=tls_context(self._endpoint.ca_path)) as web:
            answer = await web.put(put.get("url"), content=content, headers=headers)
        assert answer.status_code == 201
        return str(get.get("url"))

    async def _asked(self, to: str, kind: str, payload: str) -> Any:
        number = f"phone-{next(self._numbers)}"
        answer = self.expect_iq(number)
        self.send_raw(f"<iq type='{kind}' to={quoteattr(to)} id='{number}'>{payload}</iq>")
        return (await answer).xml


_SHOWN = frozenset({"available", "away", "chat", "dnd", "xa"})
