"""XMPP connection: reconnect (exponential back-off, jitter), keep-alive, graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import ssl
from collections.abc import Callable

from spade_llm.core.errors import (
    AuthenticationRejected,
    CertificateRejected,
    ConfigurationError,
    PeerUnavailable,
    RegistrationThrottled,
    ServerUnreachable,
)
from spade_llm.xmpp.connection.settings import ConnectionSettings, FallbackEndpoints
from spade_llm.xmpp.connection.stream_management import Acknowledger
from spade_llm.xmpp.connection.xmpp_client import XmppClient

logger = logging.getLogger(__name__)

FIRST_BACKOFF_S = 0.3
MAX_BACKOFF_S = 5.0
"""Cap of the pause between two attempts; each pause is drawn between half of it and all of it."""
MIN_ATTEMPT_S = 2.0
"""Each of several addresses gets its share of the time for the first connection, and no less."""
PING_EVERY_S = 60.0
PING_TIMEOUT_S = 20.0
UNMANAGED_PING_EVERY_S = 5.0
"""Interval and timeout of pings of a replica: until it notices that its connection is dead, others
hold the messages that it should answer."""
SELF_PING_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 2.0
"""Timeout in seconds of the closing handshake of an established stream; others close at once."""
_GONE = frozenset({"gone", "item-not-found", "recipient-unavailable", "service-unavailable"})
"""Error conditions (RFC 6120 §8.3.3) that mean that the JID is offline or does not exist."""
_TLS_CONNECTION_LOST = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Says nothing about a certificate."""
SEND_TIMEOUT_S = 30.0
"""Maximum wait of a send for a reconnection, in seconds."""


class XmppConnection:
    """Keeps one stream up until `close()`.

    The first connection is made by `open()`, which fails with the reason; later ones by
    themselves, with jittered back-off, except after a `conflict`. They resume the stream where the
    server still has it (XEP-0198): nothing that was sent or came meanwhile is lost then.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        connection: ConnectionSettings,
        *,
        resource: str,
        is_resumed: bool = True,
        is_managed: bool = True,
        read_password: Callable[[], str] | None = None,
    ) -> None:
        """`is_resumed`: the server keeps our session for a while when the connection is cut. Others
        see us there meanwhile, also if we were killed. `is_managed=False`: without stream
        management; pings confirm what was sent. `read_password` returns the password to
        reconnect with, which may have been reset; None: it stays the same."""
        self._is_resumed = is_resumed
        self._is_managed = is_managed
        self._ping_every_s = PING_EVERY_S if is_managed else UNMANAGED_PING_EVERY_S
        self._next_ping: asyncio.Task[bool] | None = None
        """Ping that is about to be sent: it confirms what was sent before."""
        self._pinging = asyncio.Lock()
        self._read_password = read_password
        self._connection = connection
        self._endpoints = FallbackEndpoints(connection)
        self._attempt_s = max(connection.start_timeout_s / len(self._endpoints), MIN_ATTEMPT_S)
        self._jid = jid
        self.acknowledger = Acknowledger()
        self.client = XmppClient(
            f"{jid.partition('/')[0]}/{resource}", password, connection, self._acknowledge
        )
        self.connected = asyncio.Event()
        self.closed_for_good: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done, with the reason, when the link has ended for good without being asked to."""
        self.on_session: list[Callable[[], None]] = []
        """Called after each connection that the server knows nothing of yet."""
        self.on_resumed: list[Callable[[], None]] = []
        """Called after each that goes on where it was cut."""
        self._connections = 0
        self._outcome: asyncio.Future[ConfigurationError | None] | None = None
        self._last_failure: ConfigurationError | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._pinger: asyncio.Task[None] | None = None
        self._dropped = asyncio.Event()
        self._listen()

    @property
    def address(self) -> str:
        return str(self.client.boundjid)

    async def open(self) -> None:
        """Connect and log in.

        Raises:
            AuthenticationRejected, CertificateRejected, ServerUnreachable: with the reason and the
                fix.
        """
        try:
            async with asyncio.timeout(self._connection.start_timeout_s):
                await self._open_until_sure()
        except TimeoutError:
            await self.close()
            raise self._last_failure or self._unreachable("no answer in time") from None
        except ConfigurationError:
            await self.close()
            raise
        self._keeper = asyncio.create_task(self._keep_connected())
        self._pinger = asyncio.create_task(self._keep_alive())

    def freeze_acknowledgements(self) -> None:
        """Stop acknowledging: the server stores later messages for our next session."""
        self.client.management.is_frozen = True

    @property
    def is_acknowledgement_frozen(self) -> bool:
        """True while incoming stanzas stay unacknowledged; False without stream management, where
        an unanswered stanza would be lost."""
        return self.client.management.is_frozen and self.client.management.is_on

    async def close(self) -> None:
        tasks = [*filter(None, (self._keeper, self._pinger, self._next_ping))]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self.acknowledger.finish(self.client.management)
            await self._disconnect()
        finally:
            # Also after a failed goodbye: who waits for a receipt must get an answer.
            self.client.management.give_up()
            # slixmpp 1.12 leaves the task that sends its queue running for ever.
            if self.client._run_out_filters is not None:
                self.client._run_out_filters.cancel()

    async def send(self, xml: str) -> None:
        """Write one stanza, waiting a while for a connection that is coming back.

        Raises:
            PeerUnavailable: not connected, and not back within SEND_TIMEOUT_S.
        """
        if not self.connected.is_set():
            try:
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await self.connected.wait()
            except TimeoutError:
                raise self._not_connected() from None
        self.client.send_raw(xml)

    async def confirm(self) -> None:
        """Return once the server has received all that was sent. A dead connection is closed, and
        its unacknowledged stanzas are sent again if the stream can be resumed.

        Raises:
            PeerUnavailable: it cannot be determined.
        """
        if not (self.client.management.is_on or self.client.management.may_resume):
            await self._confirm_by_ping()
            return
        receipt = self.client.management.receipt()
        self.request_ack_soon()
        while not receipt.done():
            await self._wait_for(receipt)
        if not receipt.result():
            raise self._not_connected()

    async def _wait_for(self, receipt: asyncio.Future[bool]) -> None:
        connection = self._connections
        await asyncio.wait({receipt}, timeout=PING_TIMEOUT_S)
        # Silence on an old connection says nothing about the one that has replaced it.
        if not receipt.done() and self.connected.is_set() and connection == self._connections:
            self.client.abort()

    def request_ack_soon(self) -> None:
        """Request an acknowledgement for a `confirm` that follows soon, in the same write as the
        stanzas that it confirms."""
        self.client.request_ack_soon()

    async def _confirm_by_ping(self) -> None:
        """Confirm by a ping if the server does not manage streams: it answers in order."""
        ping = self._next_ping
        if ping is None or ping.done():
            ping = self._next_ping = asyncio.create_task(self._shared_ping())
        drop = asyncio.create_task(self._dropped.wait())
        try:
            await asyncio.wait({ping, drop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            drop.cancel()
            await asyncio.wait({drop})
        if ping.done() and not ping.cancelled() and ping.result():
            return
        if not self._dropped.is_set():
            self.client.abort()
        raise self._not_connected()

    async def _shared_ping(self) -> bool:
        """Ping for all that wait for a confirmation, one at a time."""
        async with self._pinging:
            # What is sent from here on needs another one.
            self._next_ping = None
            return await self._is_answered()

    def send_now(self, xml: str) -> None:
        """Write a stanza that may be lost; dropped without a connection."""
        if self.connected.is_set():
            self.client.send_raw(xml)

    def _not_connected(self) -> PeerUnavailable:
        return PeerUnavailable(
            f"{self._jid} is not connected to its server",
            peer=self._jid,
            wire_code="not-connected",
        )

    async def _open_until_sure(self) -> None:
        """Retry while the server is unreachable; raise once all addresses have failed for another
        reason."""
        while (failure := await self._attempt_in_time()) is not None:
            self._last_failure = failure
            were_all_tried = self._endpoints.move_on()
            # A wrong password is wrong at every address of the server.
            if isinstance(failure, AuthenticationRejected):
                raise failure
            # A wrong certificate may be that of one address: a verdict only when all have been
            # tried.
            if were_all_tried and not isinstance(failure, ServerUnreachable):
                raise failure
            await self._disconnect()
            if were_all_tried:
                await asyncio.sleep(FIRST_BACKOFF_S)

    async def _attempt_in_time(self) -> ConfigurationError | None:
        try:
            async with asyncio.timeout(self._attempt_s):
                return await self._attempt()
        except TimeoutError:
            return self._unreachable("no answer in time")

    async def _attempt(self) -> ConfigurationError | None:
        """Make a connection attempt; None once the session is established."""
        self._outcome = asyncio.get_running_loop().create_future()
        self._dropped.clear()
        self.client.connect(*self._endpoints.now)
        try:
            return await self._outcome
        finally:
            self._outcome = None

    async def _keep_connected(self) -> None:
        while not self.closed_for_good.done():
            await self._dropped.wait()
            self.connected.clear()
            if not self.closed_for_good.done():
                await self._reconnect()

    async def _reconnect(self) -> None:
        pause_s = FIRST_BACKOFF_S
        while not self.connected.is_set() and not self.closed_for_good.done():
            # Jitter: after a restart of the server, not all agents reconnect at the same moment.
            await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
            if await self._retry_connection():
                pause_s = min(pause_s * 2, MAX_BACKOFF_S)

    async def _retry_connection(self) -> bool:
        """Make one attempt; True if all addresses have failed, so that the back-off grows."""
        self._renew_password()
        failure = await self._attempt_in_time()
        if failure is None:
            return False
        logger.warning("%s: reconnecting failed: %s", self._jid, failure)
        were_all_tried = self._endpoints.move_on()
        await self._disconnect()
        return were_all_tried

    def _renew_password(self) -> None:
        if self._read_password is None:
            return
        try:
            self.client.password = self._read_password()
        except ConfigurationError as error:
            logger.warning("%s reconnects with its last password: %s", self._jid, error)

    async def _keep_alive(self) -> None:
        """Keep-alive: a dead connection is noticed within `_ping_every_s` + PING_TIMEOUT_S. With
        stream management an `<r/>` serves as ping, at half the cost."""
        while True:
            await asyncio.sleep(self._ping_every_s)
            if self.client.management.is_on:
                await self._wait_for(self.client.management.request_ack())
            elif self.connected.is_set() and not (
                await self._is_answered() or self._dropped.is_set()
            ):
                self.client.abort()

    async def _is_answered(self) -> bool:
        """True if the server answers a ping on this connection; an error is an answer, too. The
        silence of a lost connection would end the next one."""
        timeout_s = min(self._ping_every_s, PING_TIMEOUT_S)
        ping = asyncio.create_task(self.client.ping(self.client.boundjid.host, timeout_s))
        drop = asyncio.create_task(self._dropped.wait())
        try:
            await asyncio.wait({ping, drop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ping.cancel()
            drop.cancel()
            await asyncio.wait({ping, drop})
        return not ping.cancelled() and ping.result() is not None

    async def answers_self_ping(self) -> bool:
        """True if a ping to our own full JID comes back through the server: an open socket alone
        may be dead (half-open TCP)."""
        is_connected = self.connected.is_set()
        return is_connected and await self.client.ping(self.address, SELF_PING_TIMEOUT_S) == ""

    async def is_online(self, jid: str) -> bool:
        """Check by ping whether this full JID is connected; True if that cannot be determined."""
        is_connected = self.connected.is_set()
        return not is_connected or await self.client.ping(jid, PING_TIMEOUT_S) not in _GONE

    async def _disconnect(self) -> None:
        farewell_s = CLOSE_TIMEOUT_S if self.connected.is_set() else 0.1
        self.connected.clear()
        self.client.cancel_connection_attempt()
        if self.client.is_connected():
            # slixmpp 1.12 swallows a cancellation inside `disconnect`: wait beside it.
            await asyncio.wait([self.client.disconnect(wait=farewell_s)])

    def _listen(self) -> None:
        on = self.client.add_event_handler
        on("session_start", self._session_started)
        on("session_resumed", self._session_resumed)
        on("failed_all_auth", self._auth_failed)
        on("no_auth", self._auth_failed)
        on("connection_failed", self._connect_failed)
        on("ssl_invalid_chain", self._tls_failed)
        on("stream_error", self._stream_failed)
        on("disconnected", self._disconnected)

    def _session_started(self, _event: object) -> None:
        if not self._is_trusted():
            return
        # Before our presence: the server then sends what it has stored, and that has to be counted.
        if self.client.management.is_offered and self._is_managed:
            self.client.management.enable(to_resume=self._is_resumed)
        else:
            self.client.management.give_up()
        self._begin(self.on_session)

    def _session_resumed(self, _event: object) -> None:
        if self._is_trusted():
            self._begin(self.on_resumed)

    def _is_trusted(self) -> bool:
        if isinstance(self.client.socket, ssl.SSLObject):
            return True
        self._tls_failed("the server offers no TLS")
        return False

    def _begin(self, tell: list[Callable[[], None]]) -> None:
        self._endpoints.arrive()
        self._connections += 1
        self.connected.set()
        self._decide(None)
        for call in tell:
            call()

    def _acknowledge(self, within_s: float) -> None:
        self.acknowledger.due(self.client.management, within_s)

    def _auth_failed(self, _event: object) -> None:
        kind, condition = self.client.registration_refusal or ("", "")
        if kind == "wait":
            failure: AuthenticationRejected = RegistrationThrottled(
                f"the server registers no account for {self._jid!r} now ({condition}): many servers"
                " pause after each registration (ejabberd: 10 minutes, `registration_timeout`);"
                " try again later, or make the account with the server's own tools"
            )
        else:
            refused = f" and does not register it ({condition})" if condition else ""
            failure = AuthenticationRejected(
                f"the server does not accept {self._jid!r} with this password{refused}: check both,"
                " or make the account on the server first (`spade-llm account` does it on that of"
                " `spade-llm up`)"
            )
        self._decide(failure)

    def _connect_failed(self, reason: object) -> None:
        self.client.cancel_connection_attempt()
        self._decide(self._unreachable(_plain(reason)))

    def _tls_failed(self, reason: object) -> None:
        self._decide(self._insecure(reason))
        self.client.abort()

    def _stream_failed(self, error: object) -> None:
        condition = str(error["condition"])  # type: ignore[index]  # slixmpp stanza, untyped
        if condition == "conflict" and not self.closed_for_good.done():
            logger.error("%s was replaced by another process with the same full JID", self.address)
            # RFC 6120 §4.9.3.3. Coming back would make the two replace each other for ever.
            self.closed_for_good.set_result("conflict")
        if condition == "see-other-host":
            is_verified = isinstance(self.client.socket, ssl.SSLObject)
            other = str(error["see_other_host"])  # type: ignore[index]  # slixmpp stanza, untyped
            self._endpoints.redirect(other, is_verified=is_verified)
        self._decide(self._stream_error(condition))

    def _stream_error(self, condition: str) -> ConfigurationError:
        if condition != "host-unknown":
            return self._unreachable(f"stream error {condition}")
        host, port = self._endpoints.now
        return ConfigurationError(
            f"the server at {host}:{port} does not serve the"
            f" domain of {self._jid!r}: check the JID and [server] host"
        )

    def _disconnected(self, reason: object) -> None:
        self.connected.clear()
        self.client.management.drop()
        self._dropped.set()
        if isinstance(reason, ssl.SSLError):
            self._decide(self._insecure(reason))
        else:
            self._decide(self._unreachable(_plain(reason) or "the connection was closed"))

    def _decide(self, outcome: ConfigurationError | None) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(outcome)

    def _insecure(self, reason: object) -> ConfigurationError:
        if isinstance(reason, _TLS_CONNECTION_LOST):
            return self._unreachable("the connection was closed during the TLS handshake")
        return CertificateRejected(
            f"the certificate of the server of {self._jid!r} is not trusted ({reason}): name"
            " its CA in [server] ca, and use a domain that the certificate names"
        )

    def _unreachable(self, reason: str) -> ServerUnreachable:
        host, port = self._endpoints.now
        where = f"{host or self.client.boundjid.host}:{port}"
        return ServerUnreachable(
            f"no XMPP server answers at {where} ({reason}): check [server] host and port, and that"
            " it is running; a program names it with SPADE_LLM_SERVER or options.connection, and"
            " `spade-llm up` starts one on this machine"
        )


def _plain(reason: object) -> str:
    if isinstance(reason, socket.gaierror):
        return "the name cannot be resolved"
    if isinstance(reason, OSError) and reason.errno:
        return os.strerror(reason.errno)
    return str(reason or "")
