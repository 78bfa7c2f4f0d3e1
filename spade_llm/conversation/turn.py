"""One user message → one reply: model, tools, model again, until there is an answer.

Knows no wire: memory, documents and tools may be here or in other agents.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spade_llm.conversation.chosen import DEFAULT_TOKENS
from spade_llm.conversation.prompt import build_prompt, call_message, result_message
from spade_llm.errors import RequestError, ServiceError
from spade_llm.providers.model import Completion, TextDelta, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.context import ContextManagement
    from spade_llm.conversation.recall import Recalled
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel, ToolCall, ToolSpec
    from spade_llm.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

MAX_RESULT_CHARS = 60_000
"""Of one tool result as the model reads it; what is cut is said."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn may cost."""

    model_calls: int = 6
    """The last one is made without tools, so that there is an answer."""
    tool_calls: int = 24
    seconds: float = 120.0
    recall_tokens: int = DEFAULT_TOKENS
    """Of quoted memories, estimated; 0: none."""


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """A turn's answer and what it leaves in the history."""

    text: str = ""
    added: list[ContextMessage] = field(default_factory=list)
    """Calls, results and the answer: what follows the user's message."""
    usage: Usage = field(default_factory=Usage)
    tool_calls: int = 0


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
        on_delta: Callable[[str], Awaitable[None]] | None = None,
    ) -> TurnResult:
        """Raises ModelError; TimeoutError after `limits.seconds`."""
        result = TurnResult()
        async with asyncio.timeout(self._limits.seconds):
            tools = await self._toolbox.list()
            for calls_left in reversed(range(self._limits.model_calls)):
                prompt = self._prompt([*history, *result.added], recalled)
                offered = tools if self._may_call(calls_left, result) else ()
                completion = await self._complete(prompt, offered, on_delta)
                result.usage += completion.usage
                if not (completion.tool_calls and offered):
                    break
                await self._run_tools(completion, result)
        result.text = completion.text.strip() or "(The model gave no answer.)"
        result.added.append({"role": "assistant", "content": result.text})
        return result

    def _prompt(self, history: list[ContextMessage], recalled: Recalled) -> list[ContextMessage]:
        return build_prompt(
            self._strategy, history, system_prompt=self._system_prompt, recalled=recalled
        )

    def _may_call(self, calls_left: int, result: TurnResult) -> bool:
        return calls_left > 0 and result.tool_calls < self._limits.tool_calls

    async def _complete(
        self,
        prompt: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        on_delta: Callable[[str], Awaitable[None]] | None,
    ) -> Completion:
        if on_delta is None:
            return _cleaned(await self._model.complete(prompt, tools))
        completion = Completion()
        async for piece in self._model.stream(prompt, tools):
            if isinstance(piece, TextDelta):
                await on_delta(_readable(piece.text))
            else:
                completion = piece
        return _cleaned(completion)

    async def _run_tools(self, completion: Completion, result: TurnResult) -> None:
        """All calls of one completion side by side; every call gets its result."""
        room = self._limits.tool_calls - result.tool_calls
        calls = completion.tool_calls
        texts = await asyncio.gather(
            *(self._call(call) for call in calls[:room]),
            *(_refused() for _ in calls[room:]),
        )
        result.tool_calls += len(calls)
        result.added.append(call_message(completion))
        result.added.extend(
            result_message(call, text) for call, text in zip(calls, texts, strict=True)
        )

    async def _call(self, call: ToolCall) -> str:
        """A tool's failure is a result for the model, not an exception for the user."""
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError as error:
            return f"The arguments are not valid JSON ({error}). Call the tool again."
        if not isinstance(arguments, dict):
            return "The arguments must be a JSON object. Call the tool again."
        try:
            outcome = await self._toolbox.call(call.name, arguments)
        except (RequestError, ServiceError) as error:
            logger.info("tool %s: %s", call.name, error)
            return f"The tool {call.name} could not be used: {error}"
        return _bounded(outcome.text)


def _readable(text: str) -> str:
    """Without halves of surrogate pairs, which some models' JSON brings and no encoding takes."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _cleaned(completion: Completion) -> Completion:
    calls = (replace(one, arguments=_readable(one.arguments)) for one in completion.tool_calls)
    return replace(completion, text=_readable(completion.text), tool_calls=tuple(calls))


async def _refused() -> str:
    return "Not run: this turn has used all of its tool calls. Answer with what you have."


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[{len(text) - MAX_RESULT_CHARS} characters were cut]"
