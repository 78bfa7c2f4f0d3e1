"""Messaging node of one agent: gives incoming messages to the requester or the dispatcher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.concurrency import async_no_op
from spade_llm.messaging.dispatcher import Dispatcher, DispatcherLimits
from spade_llm.messaging.requester import FIRST_RETRY_S, Requester

if TYPE_CHECKING:
    from spade_llm.core.tracing import Tracer
    from spade_llm.messaging import AclMessage
    from spade_llm.messaging.answer_log import AnswerLog
    from spade_llm.messaging.transport import Bounce, Send


class ReplyListener(Protocol):
    """Listener for replies, which do not become requests. Its methods neither block nor raise."""

    def receive(self, message: AclMessage) -> bool:
        """Accept the message. False: it is not for this listener."""

    def bounced(self, bounce: Bounce) -> bool:
        """Handle a returned message. False: this listener did not send it."""


ConfirmSent = Callable[[], Awaitable[None]]
"""Returns once our server has read all that was sent; what it returns at once has come by then."""


class Node:
    """Receiver of an agent: asks through `requester`, answers through `dispatcher`."""

    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        limits: DispatcherLimits | None = None,
        first_retry_s: float = FIRST_RETRY_S,
        tracer: Tracer | None = None,
        confirm: ConfirmSent = async_no_op,
    ) -> None:
        self.requester = Requester(send, first_retry_s=first_retry_s)
        self.dispatcher = Dispatcher(send, log, limits=limits, tracer=tracer)
        self.askers: list[ReplyListener] = [self.requester]
        """Asked in this order whether a message is for them."""
        self.confirm = confirm

    def receive(self, message: AclMessage) -> None:
        # First of all: whatever follows reads the owner of the message.
        known = self.dispatcher.identified(message)
        if known is not None and not self.is_awaited(known):
            self.dispatcher.receive(known)

    def is_awaited(self, message: AclMessage) -> bool:
        """Give the message to the listener that waits for it. False: there is none."""
        return any(asker.receive(message) for asker in self.askers)

    def bounced(self, bounce: Bounce) -> None:
        for asker in self.askers:
            if asker.bounced(bounce):
                return

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Close the dispatcher (see `Dispatcher.close`), then the requester."""
        # In this order: handlers that are cancelled leave questions of theirs to be cancelled.
        await self.dispatcher.close(patience_s=patience_s)
        await self.requester.close()
