"""Somebody with a good chat client who talks to the assistant while everything breaks.

The client comes back, resumes its stream, and sends again what stays without an answer, under the
same id. Knows no fault.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from xml.sax.saxutils import escape

from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from bench.chaos_ledger import Ledger, Said
from bench.chaos_model import KEPT, MARK, REMEMBER, fact_of
from spade_llm.core.errors import RequestError
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection

if TYPE_CHECKING:
    from spade_llm.agents import ConnectionSettings

AGAIN_S = 6.0
"""Silence after which a client sends a message again."""
PATIENCE_S = 60.0
PAUSE_S = (0.1, 1.0)
MESSAGE = "<message to='{to}' type='chat' id='{id}'><body>{text}</body></message>"


class Person:
    """Says one thing after another, each when the one before is answered."""

    def __init__(
        self, jid: str, password: str, connection: ConnectionSettings, *, peer: str, ledger: Ledger
    ) -> None:
        self.name = jid.partition("@")[0]
        self._peer = peer
        self._ledger = ledger
        self._said: dict[int, Said] = {}
        self._current: Said | None = None
        self._heard = asyncio.Event()
        self._link = XmppConnection(jid, password, connection, resource="phone")
        self._link.on_session.append(self._link.client.send_presence)
        inbox = Callback("chat", MatchXPath("{jabber:client}message"), self._hear)
        self._link.client.register_handler(inbox)

    async def open(self) -> None:
        await self._link.open()

    async def close(self) -> None:
        await self._link.close()

    async def talk(self, over: asyncio.Event) -> None:
        while not over.is_set():
            await self._say_one(len(self._said) + 1)
            await asyncio.sleep(random.uniform(*PAUSE_S))

    async def _say_one(self, number: int) -> None:
        text = f"{self.name}-{number} " + random.choice((REMEMBER, "hello", "how are you?"))
        now = asyncio.get_running_loop().time
        said = self._current = self._said[number] = Said(text=text, began=now())
        self._ledger.said.append(said)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._until_answered(said)
        said.ended = now()

    async def _until_answered(self, said: Said) -> None:
        stanza = MESSAGE.format(to=self._peer, id=uuid4().hex, text=escape(said.text))
        while not said.answers and not said.errors:
            self._heard.clear()
            with suppress(RequestError):
                await self._link.send(stanza)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    await self._heard.wait()

    def _hear(self, message: Any) -> None:
        text = str(message["body"])
        if not text or message["from"].bare != self._peer:
            return
        self._ledger.note_words(self.name, text, "an answer")
        self._file(str(message["type"]), str(message["id"]), text)
        self._heard.set()

    def _file(self, kind: str, id: str, text: str) -> None:
        mark = MARK.search(text)
        said = self._said.get(int(mark[2])) if mark and mark[1] == self.name else None
        if kind != "error" and said is not None:
            if KEPT in text and not said.answers:
                self._ledger.kept.append(fact_of(said.text))
            said.answers.add(id)
        elif (said or self._current) is not None:
            (said or self._current).errors.append(text)  # type: ignore[union-attr]  # just tested
        else:
            self._ledger.strays.append(text)
