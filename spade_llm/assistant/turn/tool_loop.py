"""Tool loop: calls the model and its tools until it answers, with limits; the result of a turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.prompt import (
    call_message,
    prompt_template,
    render_prompt,
    result_message,
)
from spade_llm.assistant.turn.structured_output import SCHEMA_MESSAGE_NAME, AnswerSchemaError
from spade_llm.assistant.turn.tool_calls import ExecutedToolCall, ToolCallRunner, failed_call
from spade_llm.assistant.turn.tool_choice import complete_with_tool_choice
from spade_llm.assistant.turn.turn_options import AUTO, TurnOptions
from spade_llm.core.errors import InvalidAnswer
from spade_llm.core.text import replace_lone_surrogates
from spade_llm.providers.model import Completion, Usage, closing_stream

if TYPE_CHECKING:
    from spade_llm.assistant.chat.messages import FinishReason
    from spade_llm.assistant.config import TurnLimits
    from spade_llm.assistant.turn.structured_output import AnswerSchema
    from spade_llm.providers.model import (
        AssistantMessage,
        ChatModel,
        ContextMessage,
        ToolSpec,
        UserMessage,
    )

MAX_ANSWER_BYTES = 96 * 1024
"""Maximum size of an answer in bytes, as JSON in XML: it fits a message with its sources."""
PARAGRAPH_BREAK = "\n\n"


class AnswerBuffer:
    """Buffer of an answer: a paragraph for each time the model wrote text, stripped."""

    def __init__(self, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._left = max_bytes
        self._pieces: list[str] = []
        self._last = 0
        """Index of the first piece of the latest paragraph."""
        self._is_in_paragraph = False
        self._held = ""
        """White space that may turn out to be at the end."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def last_paragraph(self) -> str:
        """Text of the model since its last tool call."""
        return "".join(self._pieces[self._last :]).removeprefix(PARAGRAPH_BREAK)

    @property
    def is_full(self) -> bool:
        """True if the answer has reached its maximum length; later text is dropped."""
        return self._left <= 0

    def add(self, piece: str) -> str:
        """Append a piece and return the text that can be shown now."""
        if not self._is_in_paragraph:
            piece = piece.lstrip()
        shown = piece.rstrip()
        if not shown:
            self._held += piece
            return ""
        lead = self._held if self._is_in_paragraph else PARAGRAPH_BREAK * bool(self._pieces)
        self._is_in_paragraph, self._held = True, piece[len(shown) :]
        return self._kept(lead + shown)

    def begin_paragraph(self) -> None:
        self._is_in_paragraph, self._held, self._last = False, "", len(self._pieces)

    def _kept(self, text: str) -> str:
        text = self._fitting(text)
        if text:
            self._pieces.append(text)
        return text

    def _fitting(self, text: str) -> str:
        """Prefix of the text that fits into the remaining space; once text is cut, all later text
        is dropped."""
        cost = _encoded_bytes(text[: self._left + 1])  # A character costs one at least.
        if cost <= self._left:
            self._left -= cost
            return text
        fitting = _truncated(text, self._left)
        self._left = 0
        return fitting


def _encoded_bytes(text: str) -> int:
    written = json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass")
    # XML on top of JSON: `&` becomes five characters, `<` and `>` four.
    escapes = 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))
    return len(written) - 2 + escapes


def _truncated(text: str, room: int) -> str:
    # Bisection: a character costs one to six bytes.
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _encoded_bytes(text[:middle]) <= room else (low, middle - 1)
    return text[:low].rstrip()


NO_ANSWER = "(The model gave no answer.)"
CUT_OFF = "(This answer was cut off: it reached the model's limit of length.)"
TOO_LONG = "(This answer was cut off: it is longer than one message.)"


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """Result of a turn, filled while it runs. Every method that closes it leaves a history that can
    be continued."""

    text: str = ""
    """The whole answer, notes included. What was streamed is the beginning of it."""
    added: list[ContextMessage] = field(default_factory=list)
    """Calls, results and the answer: what follows the user's message."""
    usage: Usage = field(default_factory=Usage)
    called: list[ExecutedToolCall] = field(default_factory=list)
    """Tool calls, in the order in which the model requested them."""
    is_last: bool = False
    """The model said that the conversation is over."""
    is_formed: bool = False
    """The text is an object as JSON: nothing may be said beside it."""
    is_apology: bool = False
    """The model failed; the text says so politely."""
    failure: str = ""
    """Code of the model's error that the text apologises for."""
    cause: str = ""
    """Cause of that failure, for an asker that runs the agent; it is not kept in the history."""
    fallback: str = ""
    """Name of the fallback model that wrote a part of the answer."""
    is_annotated: bool = True
    """False: the text is the model's words only, without notes and marks of ours."""
    finish: FinishReason = "stop"
    model_calls: int = 0
    spoken: AnswerBuffer = field(default_factory=AnswerBuffer, repr=False)
    notes: list[str] = field(default_factory=list)
    """Notes for the sender, appended to the answer."""

    def close(self, *, is_cut_off: bool = False) -> None:
        """Finish with the model's text."""
        if self.spoken.is_full or is_cut_off:
            self.finish = "length"
        if self.finish == "length" and self.is_annotated:
            self.notes.insert(0, TOO_LONG if self.spoken.is_full else CUT_OFF)
            self._end(f"{self.spoken.text} …", f"{self.spoken.last_paragraph} …")
        else:
            no_answer = NO_ANSWER if self.is_annotated else ""
            self._end(self.spoken.text or no_answer, self.spoken.last_paragraph or no_answer)

    def close_as(self, text: str) -> None:
        """Finish with this text instead of the model's."""
        self.notes.clear()
        self._end(text, text)

    def break_off(self, reason: str) -> None:
        """Finish with the text so far. `reason`: a clause that follows a colon."""
        self.finish = "length"
        if self.spoken.text:
            self.notes.append(f"(I stopped here: {reason}.)")
            self._end(self.spoken.text, self.spoken.last_paragraph)
        else:
            names = dict.fromkeys(one.name for one in self.called)
            used = f" Tools that I used: {', '.join(names)}." if names else ""
            text = f"I stopped before I had an answer: {reason}.{used}"
            self._end(text, text)

    def stop(self) -> None:
        """Finish a stopped turn, which has no answer, with a mark for the model."""
        # Closed before: the mark takes the place of that answer.
        if self.text:
            self.added.pop()
        self.close_as(prompt_template("turn_stopped"))

    def _end(self, text: str, said: str) -> None:
        notes = self.notes if self.is_annotated else []
        self.text = PARAGRAPH_BREAK.join([text, *notes])
        content = PARAGRAPH_BREAK.join([said, *notes])
        self.added.append({"role": "assistant", "content": content})


BuildPrompt = Callable[["Sequence[ContextMessage]"], "list[ContextMessage]"]
"""Builds the prompt, given the messages that the turn has added to the history."""


class ToolLoop:
    """Tool loop of one turn. The progress so far is available in `result` at any time."""

    def __init__(
        self,
        model: ChatModel,
        options: TurnOptions,
        limits: TurnLimits,
        calls: ToolCallRunner,
        *,
        result: TurnResult,
    ) -> None:
        self._model = model
        self._options = options
        self._tools = options.tools or ()
        self._limits = limits
        self._calls = calls
        self._result = result
        self._choice = options.wishes.tool_choice if options.tools else AUTO
        self._refused = ""
        """Reason why the forced call cannot be made."""
        self._rounds = options.wishes.tool_rounds or limits.tool_rounds
        is_streamed = options.on_delta is not None and options.answer_schema is None
        self._complete_round = self._streamed if is_streamed else self._unstreamed

    async def run(self, build: BuildPrompt) -> None:
        """Raises ModelError; InvalidAnswer, where the answer must have a form."""
        for number in count(1):
            # A model call must be left to read the results and answer.
            may_call = (
                number <= self._rounds
                and self._model_calls_left > 1
                and len(self._result.called) < self._limits.tool_calls
            )
            tools = self._tools if may_call else ()
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
        if (schema := self._options.answer_schema) is not None:
            self._result.close_as(await self._validated(completion, schema, build))
            self._result.is_formed = True
        elif completion.tool_calls and not completion.text:
            self._break_off(self._used_up() or "it wanted more tools than it may call")
        else:
            self._result.close(is_cut_off=completion.is_cut_off)

    def _break_off(self, reason: str) -> None:
        if self._options.answer_schema is not None:
            raise InvalidAnswer(f"no answer matches the requested schema: {reason}")
        self._result.break_off(reason)

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
            self._complete, messages, self._tools, tool_choice=self._choice
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
        """Call the model and stream its answer; reading stops once the answer is too long."""
        self._result.model_calls += 1
        completion, has_spoken = Completion(), False
        pieces = self._model.stream(
            messages, tools, tool_choice=AUTO, sampling=self._options.sampling
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
        answer_schema = None if tools else self._options.answer_schema
        self._result.model_calls += 1
        completion = await self._model.complete(
            messages,
            tools,
            tool_choice=tool_choice,
            response_schema=answer_schema.schema if answer_schema else None,
            sampling=self._options.sampling,
        )
        return self._counted(completion)

    def _counted(self, completion: Completion) -> Completion:
        self._result.usage += completion.usage
        if completion.is_fallback:
            self._result.fallback = completion.model
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
        if shown and self._options.on_delta is not None and self._options.answer_schema is None:
            await self._options.on_delta(shown)

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

    async def _validated(
        self, completion: Completion, schema: AnswerSchema, build: BuildPrompt
    ) -> str:
        """Validate the answer; if it does not match, call the model again, without tools."""
        try:
            return schema.checked(completion.text)
        except AnswerSchemaError as fault:
            if reached := self._used_up():
                raise InvalidAnswer(
                    f"the answer does not match the requested schema, and {reached}"
                ) from fault
            said: AssistantMessage = {
                "role": "assistant",
                "content": completion.text or "(nothing)",
            }
            repair: UserMessage = {
                "role": "user",
                "content": render_prompt("repair", fault=str(fault)),
                "name": SCHEMA_MESSAGE_NAME,
            }
        again = await self._complete([*build(self._result.added), said, repair], (), AUTO)
        try:
            return schema.checked(again.text)
        except AnswerSchemaError as fault:
            raise InvalidAnswer(
                f"the model's second answer does not match the requested schema either: {fault}"
            ) from fault
