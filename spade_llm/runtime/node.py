"""One agent's end of the network: what comes goes to the requester or to the dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.runtime.dispatcher import Dispatcher
from spade_llm.runtime.requester import FIRST_RETRY_S, Requester

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage
    from spade_llm.runtime.answer_log import AnswerLog
    from spade_llm.runtime.dispatcher import Limits
    from spade_llm.runtime.transport import Bounce, Send
    from spade_llm.tracing import Tracer


class Node:
    """A Receiver: asks through `requester`, answers through `dispatcher`."""

    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        limits: Limits | None = None,
        first_retry_s: float = FIRST_RETRY_S,
        tracer: Tracer | None = None,
    ) -> None:
        self.requester = Requester(send, first_retry_s=first_retry_s)
        self.dispatcher = Dispatcher(send, log, limits=limits, tracer=tracer)

    def receive(self, message: AclMessage) -> None:
        if not self.requester.receive(message):
            self.dispatcher.receive(message)

    def bounced(self, bounce: Bounce) -> None:
        if not self.requester.bounced(bounce):
            self.dispatcher.bounced(bounce)

    async def close(self, *, patience_s: float = 10.0) -> None:
        await self.dispatcher.close(patience_s=patience_s)
        await self.requester.close()
