"""Rounds: model, tools, model again, until there is an answer or one of the limits is reached.

Knows no history and no clock: Turn has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.conversation.answer_form import FORM_NAME, AnswerFault
from spade_llm.conversation.prompt import call_message, result_message
from spade_llm.conversation.prompt_files import prompt
from spade_llm.conversation.tool_calls import failed_call
from spade_llm.conversation.tool_choice import complete_as_chosen
from spade_llm.conversation.wishes import AUTO
from spade_llm.errors import InvalidAnswer
from spade_llm.providers.closing import closing
from spade_llm.providers.model import Completion
from spade_llm.text.surrogates import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.conversation.answer_form import AnswerForm
    from spade_llm.conversation.limits import TurnLimits
    from spade_llm.conversation.tool_calls import CalledTool, ToolCalls
    from spade_llm.conversation.turn_result import TurnResult
    from spade_llm.conversation.wishes import ToolWishes
    from spade_llm.providers.messages import AssistantMessage, ContextMessage, UserMessage
    from spade_llm.providers.model import ChatModel, Sampling, ToolSpec

OnDelta = Callable[[str], Awaitable[None]]
"""Takes the answer's text in pieces."""
BuildPrompt = Callable[["Sequence[ContextMessage]"], "list[ContextMessage]"]
"""What the model reads, from what this turn has added to the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of one turn's rounds."""

    tools: Sequence[ToolSpec]
    wishes: ToolWishes
    limits: TurnLimits
    on_delta: OnDelta | None = None
    form: AnswerForm | None = None
    """What the answer must be; it comes as a whole, then."""
    sampling: Sampling | None = None


class Rounds:
    """Of one turn. What comes of them is in `result`, at any time."""

    def __init__(
        self, model: ChatModel, wanted: Wanted, calls: ToolCalls, *, result: TurnResult
    ) -> None:
        self._model = model
        self._wanted = wanted
        self._limits = wanted.limits
        self._calls = calls
        self._result = result
        self._choice = wanted.wishes.tool_choice if wanted.tools else AUTO
        self._refused = ""
        """Why the call that was asked for cannot be made."""
        self._rounds = wanted.wishes.tool_rounds or wanted.limits.tool_rounds

    async def run(self, build: BuildPrompt) -> None:
        """Raises ModelError; InvalidAnswer, where the answer must have a form."""
        for number in count(1):
            tools = self._wanted.tools if self._may_call(number) else ()
            completion = await self._completed(build(self._result.added), tools, number)
            if not (completion.tool_calls and tools):
                break
            if reached := self._used_up():
                self._break_off(reached)
                return
            await self._run_tools(completion, number)
        await self._finish(completion, build)

    async def _finish(self, completion: Completion, build: BuildPrompt) -> None:
        if self._wanted.form is not None:
            self._result.close_as(await self._formed(completion, self._wanted.form, build))
            self._result.is_formed = True
        elif completion.tool_calls and not completion.text:
            self._break_off(self._used_up() or "it wanted more tools than it may call")
        else:
            self._result.close(is_cut_off=completion.is_cut_off)

    def _break_off(self, reason: str) -> None:
        if self._wanted.form is not None:
            raise InvalidAnswer(f"there is no answer of the form that was asked for: {reason}")
        self._result.break_off(reason)

    def _may_call(self, number: int) -> bool:
        """And read what comes of it: one call of the model is kept for the answer."""
        has_room = len(self._result.called) < self._limits.tool_calls
        is_in_time = number <= self._rounds and self._model_calls_left > 1
        return has_room and is_in_time

    @property
    def _model_calls_left(self) -> int:
        return self._limits.model_calls - self._result.model_calls

    def _used_up(self) -> str:
        """Which limit forbids another call of the model; empty: none does."""
        usage, tokens = self._result.usage, self._limits.tokens
        if tokens is not None and usage.prompt_tokens + usage.completion_tokens >= tokens:
            return f"it has used up its {tokens} tokens"
        if self._model_calls_left <= 0:
            return f"it has used up its {self._limits.model_calls} calls of the model"
        return ""

    async def _completed(
        self, messages: list[ContextMessage], tools: Sequence[ToolSpec], number: int
    ) -> Completion:
        """In pieces, unless the model may have to be asked twice."""
        self._result.spoken.begin_paragraph()
        if number == 1 and self._choice != AUTO:
            chosen = await complete_as_chosen(
                self._complete, messages, self._wanted.tools, tool_choice=self._choice
            )
            self._result.notes.extend(filter(None, [chosen.note]))
            self._refused = chosen.refused
            await self._say(chosen.completion.text)
            return chosen.completion
        return await self._spoken(messages, tools)

    async def _spoken(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> Completion:
        if self._wanted.on_delta is None or self._wanted.form is not None:
            completion = await self._complete(messages, tools, AUTO)
            await self._say(completion.text)
            return completion
        return await self._streamed(messages, tools)

    async def _streamed(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> Completion:
        """Stops reading where the answer has become too long; the model need not go on."""
        self._result.model_calls += 1
        completion, has_spoken = Completion(), False
        pieces = self._model.stream(
            messages, tools, tool_choice=AUTO, sampling=self._wanted.sampling
        )
        async with closing(pieces):
            async for piece in pieces:
                if isinstance(piece, Completion):
                    completion = piece
                else:
                    has_spoken = True
                    await self._say(readable(piece.text))
                if self._result.spoken.is_full:
                    break
        if not has_spoken:
            await self._say(readable(completion.text))
        return self._counted(completion)

    async def _complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        tool_choice: str,
    ) -> Completion:
        """The form is demanded only without tools: some servers let nobody call one then."""
        form = None if tools else self._wanted.form
        self._result.model_calls += 1
        completion = await self._model.complete(
            messages,
            tools,
            tool_choice=tool_choice,
            response_schema=form.schema if form else None,
            sampling=self._wanted.sampling,
        )
        return self._counted(completion)

    def _counted(self, completion: Completion) -> Completion:
        self._result.usage += completion.usage
        calls = (replace(one, arguments=readable(one.arguments)) for one in completion.tool_calls)
        return replace(completion, text=readable(completion.text), tool_calls=tuple(calls))

    async def _say(self, text: str) -> None:
        shown = self._result.spoken.add(text)
        if shown and self._wanted.on_delta is not None and self._wanted.form is None:
            await self._wanted.on_delta(shown)

    async def _run_tools(self, completion: Completion, number: int) -> None:
        """What ran before a stop is in the history, too."""
        if self._refused:
            refused = [failed_call(one, number, self._refused) for one in completion.tool_calls]
            self._refused = ""
            self._note_calls(completion, refused)
            return
        room = self._limits.tool_calls - len(self._result.called)
        try:
            called = await self._calls.run(completion.tool_calls, round=number, room=room)
        except asyncio.CancelledError:
            self._note_calls(completion, self._calls.so_far(completion.tool_calls, round=number))
            raise
        self._note_calls(completion, called)

    def _note_calls(self, completion: Completion, called: Sequence[CalledTool]) -> None:
        self._result.called.extend(called)
        self._result.added.append(call_message(completion))
        self._result.added.extend(
            result_message(call, one.result)
            for call, one in zip(completion.tool_calls, called, strict=True)
        )

    async def _formed(self, completion: Completion, form: AnswerForm, build: BuildPrompt) -> str:
        """One more try, without tools, for a model that missed the form."""
        try:
            return form.checked(completion.text)
        except AnswerFault as fault:
            if reached := self._used_up():
                raise InvalidAnswer(f"the answer has no valid form, and {reached}") from fault
            said: AssistantMessage = {
                "role": "assistant",
                "content": completion.text or "(nothing)",
            }
            messages = [*build(self._result.added), said, _repair(fault)]
            return _checked_again(form, await self._complete(messages, (), AUTO))


def _repair(fault: AnswerFault) -> UserMessage:
    return {"role": "user", "content": prompt("repair", fault=str(fault)), "name": FORM_NAME}


def _checked_again(form: AnswerForm, completion: Completion) -> str:
    try:
        return form.checked(completion.text)
    except AnswerFault as fault:
        raise InvalidAnswer(
            f"the model's answer does not have the form that was asked for, twice: {fault}"
        ) from fault
