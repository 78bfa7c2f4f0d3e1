"""Answers in the OpenAI protocol: completions from a body or a stream, and embeddings."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from spade_llm.core.errors import EmptyModelOutput, InvalidModelOutput
from spade_llm.providers.model import Completion, ToolCall, Usage, valid_call_id
from spade_llm.providers.openai.endpoint import END_OF_STREAM
from spade_llm.providers.openai.errors import translate_event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FINISH_LENGTH = "length"
"""The finish_reason of an answer that ran into its bound on tokens."""
FINAL_FINISH_REASONS = {FINISH_LENGTH, "content_filter"}
"""An empty answer with one of these would be empty again."""
MAX_DIMENSION = 16_384


def _as_json_text(value: object) -> object:
    """Some servers send the arguments as an object, or null, instead of as JSON text."""
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _empty_if_null(value: object) -> object:
    return [] if value is None else value


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _FunctionRecord(_Record):
    name: str | None = None
    arguments: Annotated[str, BeforeValidator(_as_json_text)] = ""


class _ToolCallRecord(_Record):
    index: int | None = None
    id: str | None = None
    function: _FunctionRecord = Field(default_factory=_FunctionRecord)


class _Message(_Record):
    content: str | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[_ToolCallRecord], BeforeValidator(_empty_if_null)] = Field(
        default_factory=list
    )


class _Choice(_Record):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _Usage(_Record):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _ChatAnswer(_Record):
    """A whole answer or one event of a stream: they differ in `message` and `delta`."""

    choices: Annotated[list[_Choice], BeforeValidator(_empty_if_null)] = Field(default_factory=list)
    usage: _Usage | None = None
    error: object = None


@dataclass(slots=True)
class _PartialCall:
    index: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReasoningFilter:
    """Filter of the reasoning that a model writes before its answer, between `<think>` and
    `</think>`: servers without a parser for the model send it as text."""

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._held = ""
        """Text that may be, or belongs to, one of the two marks."""
        self._mark = self.OPEN
        """The mark that is waited for; empty: none."""
        self._is_blank = False
        """Only white space has followed the reasoning."""

    def add(self, piece: str) -> str:
        """Take a piece of text, and return what of it belongs to the answer."""
        if not self._mark:
            piece = piece.lstrip() if self._is_blank else piece
            self._is_blank = self._is_blank and not piece
            return piece
        self._held += piece
        if self._mark == self.OPEN:
            begun = self._held.lstrip()
            if self.OPEN.startswith(begun):
                return ""  # Empty, or the beginning of the mark.
            if not begun.startswith(self.OPEN):
                return self.end()
            self._held, self._mark = begun.removeprefix(self.OPEN), self.CLOSE
        _, closed, answer = self._held.partition(self.CLOSE)
        if closed:
            self._held, self._mark, self._is_blank = "", "", True
            return self.add(answer)
        # As much as may be the beginning of the mark.
        self._held = self._held[-len(self.CLOSE) :]
        return ""

    def end(self) -> str:
        """Text that was held back and is no mark: the whole answer is `<`."""
        held, is_answer = self._held, self._mark == self.OPEN
        self._held, self._mark = "", "" if is_answer else self._mark
        return held if is_answer else ""


class AnswerAssembler:
    """An answer under construction, from one whole message or from deltas."""

    def __init__(self, *, max_bytes: int) -> None:
        self._free_bytes = max_bytes
        self._text: list[str] = []
        self._reasoning = ReasoningFilter()
        self._calls: list[_PartialCall] = []
        self._usage = Usage()
        self._finish_reason = ""
        self.is_finished = False
        """True once the server has marked the end; a stream without that mark was cut off."""

    def add(self, raw: bytes) -> str:
        """Add one JSON answer or event; return its text.

        Raises:
            InvalidModelOutput: not the promised form, or more than `max_bytes` in all.
            ModelError: the server reports an error in it.
        """
        if raw == END_OF_STREAM:
            self.is_finished = True
            return self._kept(self._reasoning.end())
        answer = _read(raw)
        if answer.usage:
            prompt, completion = answer.usage.prompt_tokens, answer.usage.completion_tokens
            self._usage = Usage(prompt_tokens=prompt or 0, completion_tokens=completion or 0)
        # With include_usage, the last event has the token counts and no choices.
        if not answer.choices:
            return ""
        choice = answer.choices[0]
        self._finish_reason = choice.finish_reason or self._finish_reason
        # A finish_reason ends the answer, too, should [DONE] be missing.
        self.is_finished = self.is_finished or bool(choice.message or choice.finish_reason)
        if choice.message:
            return self._add_message(choice.message, self._new_call)
        return self._add_message(choice.delta or _Message(), self._continued_call)

    def completion(self) -> Completion:
        """The finished answer.

        Raises:
            InvalidModelOutput: there is neither text nor a tool call in it, and never will be.
            EmptyModelOutput: the same, and another attempt may do better.
        """
        self._kept(self._reasoning.end())
        text, calls = "".join(self._text), tuple(_finished(self._calls))
        if not text and not calls:
            reason = self._finish_reason
            kind = InvalidModelOutput if reason in FINAL_FINISH_REASONS else EmptyModelOutput
            raise kind(f"The model's answer is empty ({reason or 'no finish_reason'}).")
        return Completion(
            text=text,
            tool_calls=calls,
            usage=self._usage,
            is_cut_off=self._finish_reason == FINISH_LENGTH,
        )

    def _add_message(
        self, message: _Message, call_for: Callable[[_ToolCallRecord], _PartialCall]
    ) -> str:
        text = message.content or message.refusal or ""
        self._charge(text)
        text = self._kept(self._reasoning.add(text))
        for call in message.tool_calls:
            partial, function = call_for(call), call.function
            # The `{}` makes every call cost something, so that empty ones are bounded, too.
            self._charge(function.arguments, function.name or "", call.id or "", "{}")
            partial.name = partial.name or function.name or ""
            partial.arguments.append(function.arguments)
        return text

    def _kept(self, text: str) -> str:
        self._text.append(text)
        return text

    def _new_call(self, call: _ToolCallRecord) -> _PartialCall:
        self._calls.append(_PartialCall(index=call.index, id=call.id or ""))
        return self._calls[-1]

    def _continued_call(self, call: _ToolCallRecord) -> _PartialCall:
        """The call that this delta continues, or a new one."""
        for partial in reversed(self._calls):
            if partial.index == call.index and not _is_new(call, partial):
                return partial
        return self._new_call(call)

    def _charge(self, *texts: str) -> None:
        self._free_bytes -= sum(len(text.encode("utf-8", "replace")) for text in texts)
        if self._free_bytes < 0:
            raise InvalidModelOutput("The model's answer is larger than the limit; it was cut off.")


def _is_new(call: _ToolCallRecord, partial: _PartialCall) -> bool:
    """Check whether a delta begins a new call. Some servers give every call the index 0, or none:
    then a different id or a name marks a new one."""
    if call.index is None and call.function.name:
        return True
    return bool(call.id and partial.id and call.id != partial.id)


def _read(raw: bytes) -> _ChatAnswer:
    try:
        answer = _ChatAnswer.model_validate_json(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise InvalidModelOutput(
            f"The model's server did not answer in the form of its protocol (at {where!r})."
        ) from None
    if answer.error:
        raise translate_event(answer.error)
    return answer


def _finished(partials: Iterable[_PartialCall]) -> Iterable[ToolCall]:
    """Build the tool calls, each with a unique id, because results are matched to calls by id."""
    taken: set[str] = set()
    for partial in partials:
        call_id = valid_call_id(partial.id, taken)
        arguments = "".join(partial.arguments) or "{}"
        yield ToolCall(id=call_id, name=partial.name, arguments=arguments)


class _Vector(BaseModel):
    index: int
    embedding: str | list[float]


class _EmbeddingsAnswer(BaseModel):
    data: list[_Vector] = []
    error: JsonValue = Field(default=None)


def parse_vectors(raw: bytes, *, count: int, dimension: int | None) -> NDArray[np.float32]:
    """Parse embeddings into one L2-normalised row per text.

    Raises:
        InvalidModelOutput: not `count` vectors of `dimension` (None: of one) length.
        ModelError: the answer is an error, sent as a success.
    """
    # Imported here: chat models do not need it.
    import numpy as np

    try:
        answer = _EmbeddingsAnswer.model_validate_json(raw)
    except ValidationError:
        raise _unusable("it is not what the embeddings protocol promises") from None
    if answer.error is not None:
        raise translate_event(answer.error)
    if sorted(vector.index for vector in answer.data) != list(range(count)):
        raise _unusable(f"{len(answer.data)} vectors for {count} texts")
    # By index: the order of the answer is not relied on.
    rows = [_numbers(vector) for vector in sorted(answer.data, key=lambda one: one.index)]
    dimension = dimension or len(rows[0])
    lengths = {len(row) for row in rows}
    if lengths != {dimension} or not 0 < dimension <= MAX_DIMENSION:
        raise _unusable(f"vectors of {sorted(lengths)} numbers, not {dimension}")
    vectors = np.stack(rows)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise _unusable("a vector has no direction")
    scaled: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return scaled


def _numbers(vector: _Vector) -> NDArray[np.float64]:
    import numpy as np

    if isinstance(vector.embedding, str):
        try:
            numbers = np.frombuffer(base64.b64decode(vector.embedding, validate=True), "<f4")
        except ValueError:
            raise _unusable("a vector cannot be decoded") from None
        return numbers.astype(np.float64)
    return np.array(vector.embedding, np.float64)


def _unusable(reason: str) -> InvalidModelOutput:
    return InvalidModelOutput(f"The embedding model's answer cannot be used: {reason}.")
