"""Login probe: server time, stanza size limit, and a self-ping through the server."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.xmpp.connection.xmpp_connection import XmppConnection
from spade_llm.xmpp.stanzas.namespaces import TIME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from xml.etree.ElementTree import Element

    from slixmpp.stanza import Iq

    from spade_llm.xmpp.connection.settings import ConnectionSettings

PROBE_TIMEOUT_S = 10.0
PROBE = "urn:spade-llm:probe"
"""Known to no server: it answers that it does not know it, which is all that we want."""
SELF_PING_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ProbeLogin:
    connection: XmppConnection

    async def server_time(self) -> datetime | None:
        """Query the server's time (XEP-0202), corrected by half the round trip; None: no answer."""
        loop = asyncio.get_running_loop()
        asked_s = loop.time()
        answer = await self._ask(TIME, "time")
        if answer is None or (utc := answer.find(f"{{{TIME}}}time/{{{TIME}}}utc")) is None:
            return None
        return _add_delay(utc.text or "", (loop.time() - asked_s) / 2)

    async def round_trip_s(self, size_bytes: int, *, within_s: float) -> float | None:
        """Measure the round trip in seconds of a stanza of this size; None if no response came."""
        loop = asyncio.get_running_loop()
        sent_s = loop.time()
        answer = await self._ask(PROBE, "probe", "x" * size_bytes, within_s=within_s)
        return None if answer is None else loop.time() - sent_s

    async def _ask(
        self, namespace: str, name: str, text: str = "", *, within_s: float = PROBE_TIMEOUT_S
    ) -> Element | None:
        """The answer, an error as well; None: none came, or the connection ended."""
        question = _question(self.connection, namespace, name, text)
        # A server ends the stream at a stanza above its limit; then no answer comes before the
        # timeout.
        ended = asyncio.get_running_loop().create_future()
        self.connection.client.add_event_handler("disconnected", lambda _: _set_done(ended))
        asking = asyncio.ensure_future(_answer(question, within_s))
        await asyncio.wait([asking, ended], return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.wait([asking])
            return None
        return asking.result()


def _question(connection: XmppConnection, namespace: str, name: str, text: str) -> Iq:
    iq = connection.client.make_iq_get(ito=connection.client.boundjid.domain)
    child = iq.xml.makeelement(f"{{{namespace}}}{name}", {})
    child.text = text
    iq.append(child)
    return iq


async def _answer(question: Iq, within_s: float) -> Element | None:
    try:
        return (await question.send(timeout=within_s)).xml
    except IqError as error:
        return error.iq.xml
    except IqTimeout:
        return None


def _set_done(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def _add_delay(utc: str, late_s: float) -> datetime | None:
    try:
        said = datetime.fromisoformat(utc.replace("Z", "+00:00"))
    except ValueError:
        return None
    return datetime.fromtimestamp(said.timestamp() + late_s, UTC) if said.tzinfo else None


@asynccontextmanager
async def probe_login(
    jid: str, password: str, connection: ConnectionSettings
) -> AsyncIterator[ProbeLogin]:
    """Raises ConfigurationError: the server does not let this account in, and why."""
    # Of its own: the agent that is logged in with this account must not be replaced (`conflict`).
    resource = f"visit-{secrets.token_hex(4)}"
    login = XmppConnection(jid, password, connection, resource=resource, is_resumed=False)
    await login.open()
    try:
        yield ProbeLogin(login)
    finally:
        await login.close()


async def self_ping(connection: XmppConnection) -> bool:
    if not connection.connected.is_set():
        return False
    try:
        await connection.client["xep_0199"].send_ping(connection.address, SELF_PING_TIMEOUT_S)
    except (IqError, IqTimeout):
        return False
    return True
