"""slixmpp as anybody writes it, to compare with. Knows nothing of ours but the server's CA."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from slixmpp import ClientXMPP

from spade_llm.xmpp.connection.settings import tls_context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from bench.account import Account

PATIENCE_S = 60.0


class RawClient:
    """One connection; `on_text` is told of every message that answers none of our questions."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._asked: dict[str, asyncio.Future[str]] = {}
        self._ready = asyncio.Event()
        self.on_text: Callable[[Any], Awaitable[None]] | None = None
        self.xmpp = ClientXMPP(
            account.jid, account.password, ssl_context=tls_context(account.connection.ca_path)
        )
        self.xmpp.enable_direct_tls = False
        self.xmpp.add_event_handler("session_start", lambda _: self._ready.set())
        self.xmpp.add_event_handler("message", self._received)

    async def __aenter__(self) -> Self:
        self.xmpp.connect(self._account.connection.host, self._account.connection.port)
        async with asyncio.timeout(PATIENCE_S):
            await self._ready.wait()
        self.xmpp.send_presence()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.xmpp.disconnect()
        # slixmpp 1.12 leaves the task that sends its queue running for ever.
        sender = self.xmpp._run_out_filters
        sender.cancel()
        await asyncio.wait([sender])

    def send(self, peer: str, body: str, *, id: str) -> None:
        message = self.xmpp.make_message(mto=peer, mbody=body, mtype="chat")
        message["id"] = id
        message.send()

    async def ask(self, peer: str, body: str) -> str:
        """The text of the message that comes back under the same id."""
        id = uuid4().hex
        self._asked[id] = asyncio.get_running_loop().create_future()
        self.send(peer, body, id=id)
        async with asyncio.timeout(PATIENCE_S):
            return await self._asked[id]

    async def _received(self, message: Any) -> None:
        future = self._asked.pop(message["id"], None)
        if future is not None:
            future.set_result(message["body"])
        elif self.on_text is not None:
            await self.on_text(message)


class Person(RawClient):
    """Somebody with a chat client: the answers come in the order of the questions."""

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._texts: asyncio.Queue[str] = asyncio.Queue()
        self.answered_by = ""
        """Full JID of the latest message's sender."""
        self.on_text = self._keep

    @property
    def has_heard_all(self) -> bool:
        return self._texts.empty()

    async def say(self, peer: str, text: str) -> str:
        """The next thing that is said to us after this."""
        self.send(peer, text, id=uuid4().hex)
        return await self.hear()

    async def hear(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return await self._texts.get()

    async def _keep(self, message: Any) -> None:
        self.answered_by = str(message["from"])
        self._texts.put_nowait(message["body"])
