"""One user message → one reply: model, tools, model again, until there is an answer.

Knows no wire: memory, documents and tools may be here or in other agents.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spade_llm.conversation import recorder
from spade_llm.conversation.chosen import DEFAULT_TOKENS
from spade_llm.conversation.prompt import build_prompt, call_message, result_message, said_in
from spade_llm.conversation.tool_calls import EXPIRY_S, NOBODY, ToolCalls
from spade_llm.conversation.tool_choice import complete_as_chosen
from spade_llm.conversation.wishes import AUTO, NO_WISHES, offered
from spade_llm.providers.model import Completion, TextDelta, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context import ContextManagement
    from spade_llm.conversation.recall import Recalled
    from spade_llm.conversation.tool_calls import CalledTool, Person
    from spade_llm.conversation.wishes import ToolWishes
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel, ToolSpec
    from spade_llm.tools.toolbox import Toolbox

OnDelta = Callable[[str], Awaitable[None]]
"""Takes the answer's text in pieces."""

CUT_OFF = " …\n\n(This answer was cut off: it reached the model's limit of length.)"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn may cost."""

    tool_rounds: int = 5
    """Of calling tools; then the model is asked once more, without tools, for the answer."""
    tool_calls: int = 24
    seconds: float = 120.0
    """Without the time that a person is waited for."""
    approval_seconds: float = EXPIRY_S
    """How long a person's yes to a call is waited for."""
    recall_tokens: int = DEFAULT_TOKENS
    """Of quoted memories, estimated; 0: none."""


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """A turn's answer and what it leaves in the history."""

    text: str = ""
    added: list[ContextMessage] = field(default_factory=list)
    """Calls, results and the answer: what follows the user's message."""
    usage: Usage = field(default_factory=Usage)
    called: list[CalledTool] = field(default_factory=list)
    """In the order of the model's wishes."""
    is_apology: bool = False
    """The model failed; the text says so politely."""


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
        on_delta: OnDelta | None = None,
        wishes: ToolWishes = NO_WISHES,
        person: Person = NOBODY,
    ) -> TurnResult:
        """Raises ModelError; InvalidArguments for wishes that cannot be met; TimeoutError after
        `limits.seconds`."""
        async with asyncio.timeout(self._limits.seconds) as scope:
            tools = offered(await self._toolbox.list(), wishes)
            calls = ToolCalls(self._toolbox, tools, person=person, scope=scope)
            return await _Run(self, calls, tools, wishes).answered(history, recalled, on_delta)

    def prompt(self, history: list[ContextMessage], recalled: Recalled) -> list[ContextMessage]:
        prompt = build_prompt(
            self._strategy, history, system_prompt=self._system_prompt, recalled=recalled
        )
        if of_turn := recorder.current():
            of_turn.read(history=len(history), read=said_in(prompt))
        return prompt

    @property
    def limits(self) -> TurnLimits:
        return self._limits

    async def complete(
        self,
        prompt: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        tool_choice: str,
        *,
        on_delta: OnDelta | None = None,
    ) -> Completion:
        if on_delta is None:
            return _cleaned(await self._model.complete(prompt, tools, tool_choice=tool_choice))
        completion = Completion()
        async for piece in self._model.stream(prompt, tools, tool_choice=tool_choice):
            if isinstance(piece, TextDelta):
                await on_delta(_readable(piece.text))
            else:
                completion = piece
        return _cleaned(completion)


class _Run:
    """One turn, while it goes on."""

    def __init__(
        self, turn: Turn, calls: ToolCalls, tools: Sequence[ToolSpec], wishes: ToolWishes
    ) -> None:
        self._turn = turn
        self._calls = calls
        self._tools = tools
        self._choice = wishes.tool_choice if tools else AUTO
        self._rounds = wishes.tool_rounds or turn.limits.tool_rounds
        self._result = TurnResult()
        self._note = ""

    async def answered(
        self, history: Sequence[ContextMessage], recalled: Recalled, on_delta: OnDelta | None
    ) -> TurnResult:
        result = self._result
        for number in range(1, self._rounds + 2):
            prompt = self._turn.prompt([*history, *result.added], recalled)
            completion = await self._completed(prompt, number, on_delta)
            result.usage += completion.usage
            if not (completion.tool_calls and self._may_call(number)):
                break
            await self._run_tools(completion, number)
        result.text = self._text(completion)
        result.added.append({"role": "assistant", "content": result.text})
        return result

    def _may_call(self, number: int) -> bool:
        has_room = len(self._result.called) < self._turn.limits.tool_calls
        return bool(self._tools) and number <= self._rounds and has_room

    async def _completed(
        self, prompt: list[ContextMessage], number: int, on_delta: OnDelta | None
    ) -> Completion:
        """In parts, unless the model may have to be asked twice."""
        if number == 1 and self._choice != AUTO:
            chosen = await complete_as_chosen(
                self._turn.complete, prompt, self._tools, tool_choice=self._choice
            )
            self._note = chosen.note
            return chosen.completion
        tools = self._tools if self._may_call(number) else ()
        return await self._turn.complete(prompt, tools, AUTO, on_delta=on_delta)

    async def _run_tools(self, completion: Completion, number: int) -> None:
        room = self._turn.limits.tool_calls - len(self._result.called)
        called = await self._calls.run(completion.tool_calls, round=number, room=room)
        self._result.called.extend(called)
        self._result.added.append(call_message(completion))
        self._result.added.extend(
            result_message(call, one.result)
            for call, one in zip(completion.tool_calls, called, strict=True)
        )

    def _text(self, completion: Completion) -> str:
        text = completion.text.strip() or "(The model gave no answer.)"
        text += CUT_OFF if completion.is_cut_off else ""
        return f"{text}\n\n{self._note}" if self._note else text


def _readable(text: str) -> str:
    """Without halves of surrogate pairs, which some models' JSON brings and no encoding takes."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _cleaned(completion: Completion) -> Completion:
    calls = (replace(one, arguments=_readable(one.arguments)) for one in completion.tool_calls)
    return replace(completion, text=_readable(completion.text), tool_calls=tuple(calls))
