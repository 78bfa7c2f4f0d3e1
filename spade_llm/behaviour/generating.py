"""Generating: a prompt for the model alone. Nothing of it is kept, and no conversation is read.

Knows no stanza, no memory and no tool.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.behaviour.layers import Outcome, layered
from spade_llm.conversation.history import Conversation
from spade_llm.conversation.prompt import user_message
from spade_llm.conversation.rounds import Rounds, Wanted
from spade_llm.conversation.tool_calls import NOBODY, ToolCalls
from spade_llm.conversation.turn_result import TurnResult
from spade_llm.conversation.wishes import NO_WISHES
from spade_llm.errors import ModelUnavailable
from spade_llm.services.chat_bodies import Reply
from spade_llm.tools.combined import CombinedToolbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.layers import Layer
    from spade_llm.conversation.limits import TurnLimits
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel
    from spade_llm.services.chat import Utterance

PLACE = "/generate"
"""Behind the asker's bare JID: no conversation has such a name."""


class Generating:
    def __init__(
        self, model: ChatModel, *, limits: TurnLimits, layers: Sequence[Layer] = ()
    ) -> None:
        """`layers`: around each prompt, the first of them outermost."""
        self._model = model
        self._limits = limits
        self._layers = layers

    async def answer(self, utterance: Utterance) -> Reply:
        """Raises ModelError, and what the layers raise."""
        nowhere = Conversation(utterance.peer + PLACE, utterance.peer)
        outcome = await layered(self._layers, nowhere, self._generated)(utterance)
        usage = outcome.result.usage
        return Reply(
            text=outcome.result.text,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )

    async def _generated(self, utterance: Utterance) -> Outcome:
        result = TurnResult()
        prompt: list[ContextMessage] = [user_message(utterance.text, peer=utterance.speaker)]
        wanted = Wanted(
            tools=(),
            wishes=NO_WISHES,
            limits=self._limits,
            on_delta=utterance.on_delta,
            sampling=utterance.sampling,
        )
        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                calls = ToolCalls(CombinedToolbox([]), (), person=NOBODY, scope=scope)
                await Rounds(self._model, wanted, calls, result=result).run(lambda _added: prompt)
        except TimeoutError:
            late = f"{self._model.name} took longer than {self._limits.seconds:g} seconds"
            raise ModelUnavailable(late) from None
        return Outcome(question=utterance.text, result=result, is_kept=False)
