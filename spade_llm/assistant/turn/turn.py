"""Turn: one answer to a history within a time limit; its outcome, the middleware chain around it,
and the completion of a single prompt without history, memory or tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.chat.messages import ChatReply
from spade_llm.assistant.history.conversation_cache import Conversation
from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.approval import NO_APPROVER
from spade_llm.assistant.turn.prompt import (
    build_prompt,
    history_length,
    last_question,
    user_message,
)
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.structured_output import schema_message
from spade_llm.assistant.turn.tool_calls import ToolCallRunner, offered_tools
from spade_llm.assistant.turn.tool_loop import ToolLoop, TurnResult
from spade_llm.assistant.turn.turn_options import DEFAULT_TURN_OPTIONS, TurnOptions
from spade_llm.core.errors import InvalidAnswer, ModelUnavailable
from spade_llm.tools.toolbox import CombinedToolbox, Toolbox

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import TurnLimits
    from spade_llm.assistant.turn.context_builder import AssembledContext
    from spade_llm.context import ContextManagement
    from spade_llm.providers.model import ChatModel, ContextMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """Outcome of a turn."""

    question: str
    """Question as given to the model and stored in history and memory."""
    result: TurnResult = field(default_factory=TurnResult)
    recalled: RecallResult = RecallResult()
    missing: tuple[str, ...] = ()
    """Services that could not be asked."""
    is_kept: bool = True
    """False: nothing of it goes into the conversation's history or to memory."""
    said: str | None = None
    """Text for the sender if it differs from the result's text."""
    routed_to: tuple[str, ...] = ()
    """Recipients of the answer; empty: the sender."""
    built: AssembledContext | None = None
    """Context given to the model, if the request had context options."""
    is_for_asker: bool = True
    """False: it went to others only; a program's request ends with it all the same."""


CallNext = Callable[["ChatTurnInput"], Awaitable[TurnOutcome]]


class TurnMiddleware(Protocol):
    """Layer around a turn."""

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        """`call_next` runs the inner layers: call it once at most. Raises what it raises."""


def with_middleware(
    layers: Sequence[TurnMiddleware], conversation: Conversation, innermost: CallNext
) -> CallNext:
    """Wrap `innermost` in the layers, the first of them outermost."""
    call_next = innermost
    for layer in reversed(layers):
        call_next = partial(layer, conversation=conversation, call_next=call_next)
    return call_next


class Turn:
    """Answers the last user message of a history."""

    def __init__(
        self,
        model: ChatModel,
        *,
        strategy: ContextManagement,
        system_prompt: str,
        toolbox: Toolbox,
        limits: TurnLimits,
    ) -> None:
        self._model = model
        self._strategy = strategy
        self._system_prompt = system_prompt
        self._toolbox = toolbox
        self._limits = limits

    async def run(
        self,
        history: Sequence[ContextMessage],
        recalled: RecallResult,
        *,
        options: TurnOptions = DEFAULT_TURN_OPTIONS,
        result: TurnResult | None = None,
    ) -> TurnResult:
        """The answer. `result` is filled on the way: what was done is known also where this raises.

        Raises:
            ModelError, InvalidAnswer: the model gives no answer, or none of the form.
            InvalidArguments: a wish that cannot be met.
        """
        result = result or TurnResult()

        def build(added: Sequence[ContextMessage]) -> list[ContextMessage]:
            messages = build_prompt(
                self._strategy,
                [*history, *added],
                system_prompt=self._system_prompt,
                recalled=recalled,
            )
            if recorder := turn_recorder.current_recorder():
                read = history_length(messages)
                recorder.read(history=len(history) + len(added), read=read)
            if options.answer_schema is not None:
                messages.insert(last_question(messages), schema_message(options.answer_schema))
            return messages

        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                tools = options.tools
                if tools is None:
                    tools = offered_tools(await self._toolbox.list(), options.wishes)
                calls = ToolCallRunner(self._toolbox, tools, approver=options.approver, scope=scope)
                asked = replace(options, tools=tools)
                loop = ToolLoop(self._model, asked, self._limits, calls, result=result)
                await loop.run(build)
        except TimeoutError:
            # Somebody else's TimeoutError is not the turn's limit.
            if not scope.expired():
                raise
            late = f"it took longer than {self._limits.seconds:g} seconds"
            if options.answer_schema is not None:
                raise InvalidAnswer(f"no answer matches the requested schema: {late}") from None
            result.break_off(late)
        return result


CONVERSATION_SUFFIX = "/generate"
"""Suffix to the sender's bare JID for a pseudo conversation key, which no conversation has."""


class StatelessCompletion:
    """Completion of a prompt without history, memory and tools."""

    def __init__(
        self, model: ChatModel, *, limits: TurnLimits, layers: Sequence[TurnMiddleware] = ()
    ) -> None:
        """`layers`: middleware of each prompt, outermost first."""
        self._model = model
        self._limits = limits
        self._layers = layers

    async def answer(self, turn_input: ChatTurnInput) -> ChatReply:
        """Raises ModelError, and what the layers raise."""
        nowhere = Conversation(turn_input.peer + CONVERSATION_SUFFIX, turn_input.peer)
        outcome = await with_middleware(self._layers, nowhere, self._generated)(turn_input)
        usage = outcome.result.usage
        return ChatReply(
            text=outcome.result.text,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )

    async def _generated(self, turn_input: ChatTurnInput) -> TurnOutcome:
        result = TurnResult()
        prompt: list[ContextMessage] = [user_message(turn_input.text, peer=turn_input.speaker)]
        options = TurnOptions(on_delta=turn_input.on_delta, sampling=turn_input.sampling, tools=())
        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                calls = ToolCallRunner(CombinedToolbox([]), (), approver=NO_APPROVER, scope=scope)
                loop = ToolLoop(self._model, options, self._limits, calls, result=result)
                await loop.run(lambda _added: prompt)
        except TimeoutError:
            late = f"{self._model.name} took longer than {self._limits.seconds:g} seconds"
            raise ModelUnavailable(late) from None
        return TurnOutcome(question=turn_input.text, result=result, is_kept=False)
