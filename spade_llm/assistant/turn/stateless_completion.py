"""Stateless completion: one prompt to the model without history, memory or tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import ChatReply
from spade_llm.assistant.history.conversations import Conversation
from spade_llm.assistant.turn.options import DEFAULT_TOOL_OPTIONS
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.tool_calls import NO_APPROVER, ToolCallRunner
from spade_llm.assistant.turn.tool_loop import ToolLoop, ToolLoopRequest
from spade_llm.assistant.turn.turn_result import TurnOutcome, TurnResult, with_middleware
from spade_llm.core.errors import ModelUnavailable
from spade_llm.tools.combined import CombinedToolbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import TurnLimits
    from spade_llm.assistant.turn.turn_result import TurnMiddleware
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel

CONVERSATION_SUFFIX = "/generate"
"""Suffix to the sender's bare JID that forms a pseudo conversation key; no real conversation has
such a key."""


class StatelessCompletion:
    def __init__(
        self, model: ChatModel, *, limits: TurnLimits, layers: Sequence[TurnMiddleware] = ()
    ) -> None:
        """`layers`: around each prompt, the first of them outermost."""
        self._model = model
        self._limits = limits
        self._layers = layers

    async def answer(self, utterance: ChatTurnInput) -> ChatReply:
        """Raises ModelError, and what the layers raise."""
        nowhere = Conversation(utterance.peer + CONVERSATION_SUFFIX, utterance.peer)
        outcome = await with_middleware(self._layers, nowhere, self._generated)(utterance)
        usage = outcome.result.usage
        return ChatReply(
            text=outcome.result.text,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )

    async def _generated(self, utterance: ChatTurnInput) -> TurnOutcome:
        result = TurnResult()
        prompt: list[ContextMessage] = [user_message(utterance.text, peer=utterance.speaker)]
        wanted = ToolLoopRequest(
            tools=(),
            wishes=DEFAULT_TOOL_OPTIONS,
            limits=self._limits,
            on_delta=utterance.on_delta,
            sampling=utterance.sampling,
        )
        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                calls = ToolCallRunner(CombinedToolbox([]), (), person=NO_APPROVER, scope=scope)
                await ToolLoop(self._model, wanted, calls, result=result).run(lambda _added: prompt)
        except TimeoutError:
            late = f"{self._model.name} took longer than {self._limits.seconds:g} seconds"
            raise ModelUnavailable(late) from None
        return TurnOutcome(question=utterance.text, result=result, is_kept=False)
