"""Delivery of answers and chat messages: resent until the server confirms arrival.

A program that gets no answer asks again; a person does not. Therefore messages to people stay in
the answer log until our server has them, and are sent again after the next connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    Failure,
    PeerUnavailable,
    ProtocolError,
    RequestError,
    StorageFailed,
)
from spade_llm.messaging import CHAT_TEXT, Performative
from spade_llm.messaging.body import error_content

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spade_llm.messaging import AclMessage
    from spade_llm.messaging.answer_log import AnswerLog
    from spade_llm.messaging.transport import Send

    Spawn = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]

logger = logging.getLogger(__name__)

ConfirmDelivery = Callable[[], Awaitable[None]]
"""Waits until everything sent so far has reached our server; raises RequestError if that cannot be
determined."""


class Delivery:
    """Sends answers and chat messages, and resends those to people until they have arrived."""

    def __init__(self, send: Send, log: AnswerLog, spawn: Spawn) -> None:
        """`spawn`: starts a task that its owner awaits."""
        self._send = send
        self._log = log
        self._spawn = spawn
        self._sent: set[tuple[str, str]] | None = None
        """Messages to people that were sent since `resending` began, by receiver and id."""
        self._confirming: dict[tuple[str, str], asyncio.Task[None]] = {}
        """Tasks that wait for the arrival of a message to a person, by receiver and id."""
        self.has_arrived: ConfirmDelivery | None = None
        """Set if the network may lose messages."""
        self.is_connected: Callable[[], bool] | None = None
        """Set for a replica: true while its stream stands. A message is erased from the log as soon
        as it was written to the stream, since another replica would send it again after a kill. It
        is restored if the stream is lost before it has arrived. What is in the log then is sent in
        order, by this replica or by the one that takes it."""
        self.is_settled: Callable[[], bool] = lambda: True
        """False for a replica with a new session until it has resent what the last one left."""

    @property
    def unconfirmed(self) -> int:
        """Messages to people that were sent and may not have arrived yet."""
        return len(self._confirming)

    def is_sent(self, message: AclMessage) -> bool:
        """True if it was sent and may not have arrived yet, or was sent since `resending` began."""
        key = _delivery_key(message)
        return key in self._confirming or (self._sent is not None and key in self._sent)

    @contextmanager
    def resending(self) -> Iterator[None]:
        """Context manager for sending what the log has: `is_sent` then knows also what has left,
        and arrived, since the log was read."""
        self._sent = set()
        try:
            yield
        finally:
            self._sent = None

    async def deliver(self, answer: AclMessage, *, is_resent: bool = False) -> None:
        """Send one answer; never raises. In a chat, an answer without text is not sent.
        `is_resent`: it comes from the log."""
        try:
            if answer.content or answer.ontology != CHAT_TEXT:
                try:
                    self._require_stream(answer, is_resent=is_resent)
                    await self._send(answer)
                except ProtocolError as error:
                    # An answer that is too large for the network becomes a failure that fits.
                    failure = Failure(f"the answer cannot be sent: {error}")
                    content = error_content(answer, failure)
                    await self._send(
                        replace(answer, performative=Performative.FAILURE, content=content)
                    )
        except RequestError as error:
            logger.warning("an answer to %s waits for a retry: %s", answer.receiver, error)
        except Exception:
            logger.exception("conversation %s: no answer could be sent", answer.conversation_id)
        else:
            logger.debug("request %s: answer sent", answer.in_reply_to)
            await self._confirm(answer)

    async def say(self, message: AclMessage) -> None:
        """Send a chat message that answers no request: once for its id, and if it cannot leave
        now, after the next connection.

        Raises:
            ProtocolError: the network does not accept the message.
        """
        if not await self._is_new(message):
            return
        try:
            self._require_stream(message)
            await self._send(message)
        except RequestError as error:
            logger.warning("a message to %s waits for a connection: %s", message.receiver, error)
            return
        except ProtocolError:
            # Otherwise every new connection would try it again, and fail again.
            await self._erase(message)
            raise
        await self._confirm(message)

    async def not_sent(self, answer: AclMessage) -> None:
        """Keep an answer that was returned for a temporary reason: `Dispatcher.resend` sends it."""
        if confirming := self._confirming.pop(_delivery_key(answer), None):
            confirming.cancel()
        if not await self._restore(answer):
            logger.warning("an answer to %s is lost", answer.receiver)

    async def until_restored(self) -> None:
        """Return once what a replica sent over a lost stream has arrived or is in the log."""
        if self.is_connected is not None and self._confirming:
            await asyncio.wait({*self._confirming.values()})

    def _require_stream(self, message: AclMessage, *, is_resent: bool = False) -> None:
        """Raise PeerUnavailable for a replica that is not connected, since others send what it
        would wait with, or that would overtake what is still in the log."""
        if self.is_connected is None:
            return
        if not (self.is_connected() and (is_resent or self.is_settled())):
            raise PeerUnavailable(
                "this replica is not connected", peer=message.receiver, wire_code="not-connected"
            )

    async def _restore(self, answer: AclMessage) -> bool:
        """Undo `_erase`. False: the log cannot be written."""
        try:
            await self._log.restore(answer)
        except StorageFailed as error:
            logger.warning("to %s: not marked as unsent: %s", answer.receiver, error)
            return False
        logger.debug("request %s: answer back in the log", answer.in_reply_to)
        return True

    async def _is_new(self, message: AclMessage) -> bool:
        try:
            return await self._log.keep(message)
        except StorageFailed as error:
            logger.warning("conversation %s: not durable: %s", message.conversation_id, error)
            return True

    async def _confirm(self, sent: AclMessage) -> None:
        """Erase a chat message from the answer log once it has arrived."""
        if sent.ontology != CHAT_TEXT:
            return
        if self._sent is not None:
            self._sent.add(_delivery_key(sent))
        if self.has_arrived is None:
            await self._erase(sent)
        else:
            is_replica = self.is_connected is not None
            erasing = self._spawn(self._erase(sent)) if is_replica else None
            confirming = self._spawn(self._resend_until_arrived(sent, self.has_arrived, erasing))
            self._confirming[_delivery_key(sent)] = confirming
            if erasing is not None:
                # Before its job is over: `Dispatcher.resend` reads the log.
                await asyncio.wait({erasing})

    async def _resend_until_arrived(
        self,
        sent: AclMessage,
        has_arrived: ConfirmDelivery,
        erasing: asyncio.Task[None] | None,
    ) -> None:
        # Before anything else is awaited: a later stream could not tell what this one has lost.
        arrival = asyncio.create_task(_is_known(has_arrived))
        try:
            if erasing is not None:
                await asyncio.wait({erasing})
            # `send` itself waits for a connection, so this does not spin while the line is down.
            while not await arrival:
                # Sent from here, it could arrive behind a later answer that is in the log.
                if erasing is not None and await self._restore(sent):
                    return
                await self._send(sent)
                arrival = asyncio.create_task(_is_known(has_arrived))
            logger.debug("request %s: answer arrived at the server", sent.in_reply_to)
            if erasing is None:
                await self._erase(sent)
        except RequestError as error:
            logger.warning("an answer to %s waits for a connection: %s", sent.receiver, error)
        finally:
            arrival.cancel()
            # `not_sent` may have removed this entry, and a new delivery may have put its own.
            if self._confirming.get(_delivery_key(sent)) is asyncio.current_task():
                del self._confirming[_delivery_key(sent)]

    async def _erase(self, answer: AclMessage) -> None:
        try:
            await self._log.erase(answer)
        except StorageFailed as error:
            logger.warning("to %s: sent, but not marked as sent: %s", answer.receiver, error)


async def _is_known(has_arrived: ConfirmDelivery) -> bool:
    try:
        await has_arrived()
    except RequestError:
        return False
    return True


def _delivery_key(message: AclMessage) -> tuple[str, str]:
    return message.receiver, message.reply_with
