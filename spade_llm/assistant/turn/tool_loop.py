"""Tool loop: calls the model and its tools until it answers; streaming and turn time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.options import AUTO, DEFAULT_TOOL_OPTIONS
from spade_llm.assistant.turn.prompt import (
    build_prompt,
    call_message,
    history_length,
    last_question,
    render_prompt,
    result_message,
)
from spade_llm.assistant.turn.structured_output import (
    SCHEMA_MESSAGE_NAME,
    AnswerSchemaError,
    schema_message,
)
from spade_llm.assistant.turn.tool_calls import (
    NO_APPROVER,
    ToolCallRunner,
    failed_call,
    offered_tools,
)
from spade_llm.assistant.turn.tool_choice import complete_with_tool_choice
from spade_llm.assistant.turn.turn_result import TurnResult
from spade_llm.core.errors import InvalidAnswer
from spade_llm.core.text import replace_lone_surrogates
from spade_llm.providers.model import Completion, closing_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.assistant.turn.options import ToolOptions
    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.assistant.turn.structured_output import AnswerSchema
    from spade_llm.assistant.turn.tool_calls import Approver, ExecutedToolCall
    from spade_llm.context import ContextManagement
    from spade_llm.providers.messages import AssistantMessage, ContextMessage, UserMessage
    from spade_llm.providers.model import ChatModel, Sampling, ToolSpec
    from spade_llm.tools.toolbox import Toolbox

OnDelta = Callable[[str], Awaitable[None]]
"""Takes the answer's text in pieces."""
BuildPrompt = Callable[["Sequence[ContextMessage]"], "list[ContextMessage]"]
"""Builds the prompt, given the messages that the turn has added to the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopRequest:
    """Input of the tool loop of one turn."""

    tools: Sequence[ToolSpec]
    wishes: ToolOptions
    limits: TurnLimits
    on_delta: OnDelta | None = None
    form: AnswerSchema | None = None
    """Required schema of the answer; then the answer is not streamed."""
    sampling: Sampling | None = None


class ToolLoop:
    """Tool loop of one turn. The progress so far is available in `result` at any time."""

    def __init__(
        self,
        model: ChatModel,
        wanted: ToolLoopRequest,
        calls: ToolCallRunner,
        *,
        result: TurnResult,
    ) -> None:
        self._model = model
        self._wanted = wanted
        self._limits = wanted.limits
        self._calls = calls
        self._result = result
        self._choice = wanted.wishes.tool_choice if wanted.tools else AUTO
        self._refused = ""
        """Reason why the forced call cannot be made."""
        self._rounds = wanted.wishes.tool_rounds or wanted.limits.tool_rounds
        is_streamed = wanted.on_delta is not None and wanted.form is None
        self._complete_round = self._streamed if is_streamed else self._unstreamed

    async def run(self, build: BuildPrompt) -> None:
        """Raises ModelError; InvalidAnswer, where the answer must have a form."""
        for number in count(1):
            tools = self._wanted.tools if self._may_call(number) else ()
            messages = build(self._result.added)
            self._result.spoken.begin_paragraph()
            if number == 1 and self._choice != AUTO:
                completion = await self._complete_with_choice(messages)
            else:
                completion = await self._complete_round(messages, tools)
            # Calls of tools that were not offered are not made, whatever the model writes.
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
        """True if this round may call tools: a model call must be left to read the results and
        answer."""
        has_room = len(self._result.called) < self._limits.tool_calls
        is_in_time = number <= self._rounds and self._model_calls_left > 1
        return has_room and is_in_time

    @property
    def _model_calls_left(self) -> int:
        return self._limits.model_calls - self._result.model_calls

    def _used_up(self) -> str:
        """Description of the limit that forbids another model call; empty: none."""
        usage, tokens = self._result.usage, self._limits.tokens
        if tokens is not None and usage.prompt_tokens + usage.completion_tokens >= tokens:
            return f"it has used up its {tokens} tokens"
        if self._model_calls_left <= 0:
            return f"it has used up its {self._limits.model_calls} calls of the model"
        return ""

    async def _complete_with_choice(self, messages: list[ContextMessage]) -> Completion:
        """Complete a round with a forced tool choice; not streamed, since it may need a second
        model call."""
        chosen = await complete_with_tool_choice(
            self._complete, messages, self._wanted.tools, tool_choice=self._choice
        )
        self._result.notes.extend(filter(None, [chosen.note]))
        self._refused = chosen.refused
        await self._say(chosen.completion.text)
        return chosen.completion

    async def _unstreamed(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> Completion:
        completion = await self._complete(messages, tools, AUTO)
        await self._say(completion.text)
        return completion

    async def _streamed(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> Completion:
        """Stops reading where the answer has become too long; the model need not go on."""
        self._result.model_calls += 1
        completion, has_spoken = Completion(), False
        pieces = self._model.stream(
            messages, tools, tool_choice=AUTO, sampling=self._wanted.sampling
        )
        # Reading may stop early: the model's request is closed then, not when collected.
        async with closing_stream(pieces):
            async for piece in pieces:
                if isinstance(piece, Completion):
                    completion = piece
                else:
                    has_spoken = True
                    await self._say(replace_lone_surrogates(piece.text))
                if self._result.spoken.is_full:
                    break
        if not has_spoken:
            await self._say(replace_lone_surrogates(completion.text))
        return self._counted(completion)

    async def _complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        tool_choice: str,
    ) -> Completion:
        """Call the model. The response schema is sent only without tools: some servers allow no
        tool calls with it."""
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
        # Models write lone surrogates, which neither UTF-8 nor SQLite takes.
        calls = (
            replace(one, arguments=replace_lone_surrogates(one.arguments))
            for one in completion.tool_calls
        )
        return replace(
            completion, text=replace_lone_surrogates(completion.text), tool_calls=tuple(calls)
        )

    async def _say(self, text: str) -> None:
        shown = self._result.spoken.add(text)
        if shown and self._wanted.on_delta is not None and self._wanted.form is None:
            await self._wanted.on_delta(shown)

    async def _run_tools(self, completion: Completion, number: int) -> None:
        """Run the calls of a round. Calls completed before a stop are added to the history, too."""
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

    def _note_calls(self, completion: Completion, called: Sequence[ExecutedToolCall]) -> None:
        self._result.called.extend(called)
        self._result.added.append(call_message(completion))
        self._result.added.extend(
            result_message(call, one.result)
            for call, one in zip(completion.tool_calls, called, strict=True)
        )

    async def _formed(self, completion: Completion, form: AnswerSchema, build: BuildPrompt) -> str:
        """Validate the answer; if it does not match the schema, the model is called once more,
        without tools."""
        try:
            return form.checked(completion.text)
        except AnswerSchemaError as fault:
            if reached := self._used_up():
                raise InvalidAnswer(f"the answer has no valid form, and {reached}") from fault
            said: AssistantMessage = {
                "role": "assistant",
                "content": completion.text or "(nothing)",
            }
            messages = [*build(self._result.added), said, _repair_message(fault)]
            return _second_check(form, await self._complete(messages, (), AUTO))


def _repair_message(fault: AnswerSchemaError) -> UserMessage:
    return {
        "role": "user",
        "content": render_prompt("repair", fault=str(fault)),
        "name": SCHEMA_MESSAGE_NAME,
    }


def _second_check(form: AnswerSchema, completion: Completion) -> str:
    try:
        return form.checked(completion.text)
    except AnswerSchemaError as fault:
        raise InvalidAnswer(
            f"the model's answer does not have the form that was asked for, twice: {fault}"
        ) from fault


__all__ = [
    "OnDelta",
    "Turn",
    "TurnLimits",
    "TurnOptions",
    "TurnResult",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """Options of a turn, with callbacks to the sender."""

    on_delta: OnDelta | None = None
    """Takes the answer's text in pieces; not where it must have a form."""
    wishes: ToolOptions = DEFAULT_TOOL_OPTIONS
    person: Approver = NO_APPROVER
    form: AnswerSchema | None = None
    sampling: Sampling | None = None
    tools: Sequence[ToolSpec] | None = None
    """Tools offered to the model; None: selected from the toolbox by the tool options."""


DEFAULT_TURN_OPTIONS = TurnOptions()


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
        asker: TurnOptions = DEFAULT_TURN_OPTIONS,
        result: TurnResult | None = None,
    ) -> TurnResult:
        """The answer. `result` is filled on the way: what was done is known also where this raises.

        Raises:
            ModelError, InvalidAnswer: the model gives no answer, or none of the form.
            InvalidArguments: a wish that cannot be met.
        """
        result = result or TurnResult()

        def build(added: Sequence[ContextMessage]) -> list[ContextMessage]:
            return self._prompt([*history, *added], recalled, asker.form)

        try:
            async with asyncio.timeout(self._limits.seconds) as scope:
                loop = await self._tool_loop(asker, result, scope)
                await loop.run(build)
        except TimeoutError:
            # Somebody else's TimeoutError is not the turn's limit.
            if not scope.expired():
                raise
            late = f"it took longer than {self._limits.seconds:g} seconds"
            if asker.form is not None:
                raise InvalidAnswer(f"there is no answer of the form: {late}") from None
            result.break_off(late)
        return result

    async def _tool_loop(
        self, asker: TurnOptions, result: TurnResult, scope: asyncio.Timeout
    ) -> ToolLoop:
        tools = asker.tools
        if tools is None:
            tools = offered_tools(await self._toolbox.list(), asker.wishes)
        wanted = ToolLoopRequest(
            tools=tools,
            wishes=asker.wishes,
            limits=self._limits,
            on_delta=asker.on_delta,
            form=asker.form,
            sampling=asker.sampling,
        )
        calls = ToolCallRunner(self._toolbox, tools, person=asker.person, scope=scope)
        return ToolLoop(self._model, wanted, calls, result=result)

    def _prompt(
        self, history: list[ContextMessage], recalled: RecallResult, form: AnswerSchema | None
    ) -> list[ContextMessage]:
        messages = build_prompt(
            self._strategy, history, system_prompt=self._system_prompt, recalled=recalled
        )
        if of_turn := turn_recorder.current_recorder():
            of_turn.read(history=len(history), read=history_length(messages))
        if form is not None:
            messages.insert(last_question(messages), schema_message(form))
        return messages
