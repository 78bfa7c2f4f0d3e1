"""A person in a room, with a client that knows nothing of agents. Knows no test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from xml.sax.saxutils import escape

from tests.integration.network import PATIENCE_S

if TYPE_CHECKING:
    from tests.xmpp.client import Client

MUC = "http://jabber.org/protocol/muc"


class Guest:
    """One occupant. What others say there waits in `heard`, what is said to them alone in the
    client's own queue."""

    def __init__(self, client: Client, room: str, nick: str) -> None:
        self.client = client
        self.room = room
        self.nick = nick
        self._kept: list[Any] = []

    async def enter(self) -> Guest:
        # Without an identity slixmpp says that it is a bot.
        self.client.xmpp["xep_0030"].add_identity(category="client", itype="pc")
        self.client.send_raw(
            f"<presence to='{self.room}/{self.nick}'><x xmlns='{MUC}'>"
            "<history maxstanzas='0'/></x></presence>"
        )
        await self.sees(self.nick)
        return self

    async def open_to_all_eyes(self) -> None:
        """The room's owner lets everybody see everybody's JID."""
        done = self.client.expect_iq("config")
        self.client.send_raw(
            f"<iq type='set' to='{self.room}' id='config'><query xmlns='{MUC}#owner'>"
            "<x xmlns='jabber:x:data' type='submit'>"
            f"<field var='FORM_TYPE'><value>{MUC}#roomconfig</value></field>"
            "<field var='muc#roomconfig_whois'><value>anyone</value></field></x></query></iq>"
        )
        assert (await done)["type"] == "result"

    async def sees(self, nick: str, kind: str = "available") -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                presence = await self.client.presences.get()
                if (str(presence["from"]), presence["type"]) == (f"{self.room}/{nick}", kind):
                    return

    def say(self, text: str, *, more: str = "") -> None:
        self.client.send_raw(
            f"<message type='groupchat' to='{self.room}' id='{uuid4().hex}'>"
            f"<body>{escape(text)}</body>{more}</message>"
        )

    async def hears(self, nick: str) -> str:
        """The next thing that this occupant says to all."""
        return str((await self.hears_stanza(nick))["body"])

    async def hears_stanza(self, nick: str) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self.client.messages.get()
                is_theirs = str(message["from"]) == f"{self.room}/{nick}"
                if is_theirs and message["type"] == "groupchat":
                    return message

    async def heard_up_to(self, text: str) -> list[tuple[str, str]]:
        """All that is said until this guest's own text comes back: who, and what."""
        said: list[tuple[str, str]] = []
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self.client.messages.get()
                nick, body = str(message["from"]).partition("/")[2], str(message["body"])
                if (nick, body) == (self.nick, text):
                    return said
                said.append((nick, body))
