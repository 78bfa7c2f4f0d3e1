"""Delivery of answers and chat messages: resent until the server confirms arrival.

A program that gets no answer asks again; a person does not. Therefore messages to people stay in
the answer log until our server has them, and are sent again after the next connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import Failure, ProtocolError, RequestError, StorageFailed
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
        self._confirming: dict[tuple[str, str], asyncio.Task[None]] = {}
        """Tasks that wait for the arrival of a message to a person, by receiver and id."""
        self.has_arrived: ConfirmDelivery | None = None
        """Set if the network may lose messages."""
        self.is_erased_early = False
        """Set for a replica: a message is erased from the log as soon as it was written to the
        stream, and held in RAM until it has arrived. Otherwise the answers that a killed replica
        had sent, and that were not confirmed yet, would be sent again by another one."""

    @property
    def unconfirmed(self) -> int:
        """Messages to people that were sent and may not have arrived yet."""
        return len(self._confirming)

    def is_unconfirmed(self, message: AclMessage) -> bool:
        return _delivery_key(message) in self._confirming

    async def deliver(self, answer: AclMessage) -> None:
        """Send one answer; never raises. In a chat, an answer without text is not sent."""
        try:
            if answer.content or answer.ontology != CHAT_TEXT:
                try:
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
        try:
            await self._log.restore(answer)
        except StorageFailed as error:
            logger.warning("an answer to %s is lost: %s", answer.receiver, error)

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
        if self.has_arrived is None:
            await self._erase(sent)
        else:
            if self.is_erased_early:
                await self._erase(sent)
            confirming = self._spawn(self._resend_until_arrived(sent, self.has_arrived))
            self._confirming[_delivery_key(sent)] = confirming

    async def _resend_until_arrived(self, sent: AclMessage, has_arrived: ConfirmDelivery) -> None:
        try:
            # `send` itself waits for a connection, so this does not spin while the line is down.
            while not await _is_known(has_arrived):
                await self._send(sent)
            if not self.is_erased_early:
                await self._erase(sent)
        except RequestError as error:
            logger.warning("an answer to %s waits for a connection: %s", sent.receiver, error)
        finally:
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
