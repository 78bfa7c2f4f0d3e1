"""One user message → one reply: model, tools, model again, until there is an answer.

Knows no wire: memory, documents and tools may be here or in other agents.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.conversation import recorder
from spade_llm.conversation.answer_form import form_message
from spade_llm.conversation.limits import TurnLimits
from spade_llm.conversation.prompt import build_prompt, last_question, said_in
from spade_llm.conversation.rounds import OnDelta, Rounds, Wanted
from spade_llm.conversation.tool_calls import NOBODY, ToolCalls
from spade_llm.conversation.turn_result import TurnResult
from spade_llm.conversation.wishes import NO_WISHES, offered
from spade_llm.errors import InvalidAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context import ContextManagement
    from spade_llm.conversation.answer_form import AnswerForm
    from spade_llm.conversation.recall import Recalled
    from spade_llm.conversation.tool_calls import Person
    from spade_llm.conversation.wishes import ToolWishes
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel, Sampling, ToolSpec
    from spade_llm.tools.toolbox import Toolbox

__all__ = ["Asker", "OnDelta", "Turn", "TurnLimits", "TurnResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """What whoever is answered may want, and how they can be told and asked things meanwhile."""

    on_delta: OnDelta | None = None
    """Takes the answer's text in pieces; not where it must have a form."""
    wishes: ToolWishes = NO_WISHES
    person: Person = NOBODY
    form: AnswerForm | None = None
    sampling: Sampling | None = None
    tools: Sequence[ToolSpec] | None = None
    """What the model is offered; None: what there is, as the wishes say."""


ANYBODY = Asker()


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
        recalled: Recalled,
        *,
        asker: Asker = ANYBODY,
        result: TurnResult | None = None,
    ) -> TurnResult:
        """The answer. `result` is filled on the way: what was done is known also where this raises.

        Raises:
            ModelError, InvalidAnswer: the model gives no answer, or none of the form.
            InvalidArguments: a wish that cannot be met.
        """
        result = result or TurnResult()
        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                await self._answer(history, recalled, asker, result, scope)
        except TimeoutError:
            if not scope.expired():
                raise
            late = f"it took longer than {self._limits.seconds:g} seconds"
            if asker.form is not None:
                raise InvalidAnswer(f"there is no answer of the form: {late}") from None
            result.break_off(late)
        return result

    async def _answer(
        self,
        history: Sequence[ContextMessage],
        recalled: Recalled,
        asker: Asker,
        result: TurnResult,
        scope: asyncio.Timeout,
    ) -> None:
        tools = asker.tools
        if tools is None:
            tools = offered(await self._toolbox.list(), asker.wishes)
        wanted = Wanted(
            tools=tools,
            wishes=asker.wishes,
            limits=self._limits,
            on_delta=asker.on_delta,
            form=asker.form,
            sampling=asker.sampling,
        )
        calls = ToolCalls(self._toolbox, tools, person=asker.person, scope=scope)

        def build(added: Sequence[ContextMessage]) -> list[ContextMessage]:
            return self._prompt([*history, *added], recalled, asker.form)

        await Rounds(self._model, wanted, calls, result=result).run(build)

    def _prompt(
        self, history: list[ContextMessage], recalled: Recalled, form: AnswerForm | None
    ) -> list[ContextMessage]:
        messages = build_prompt(
            self._strategy, history, system_prompt=self._system_prompt, recalled=recalled
        )
        if of_turn := recorder.current():
            of_turn.read(history=len(history), read=said_in(messages))
        if form is not None:
            messages.insert(last_question(messages), form_message(form))
        return messages
