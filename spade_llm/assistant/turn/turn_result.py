"""Result and outcome of a turn, and the middleware chain around it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

from spade_llm.assistant.turn.prompt import prompt_template
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.providers.model import Usage

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.assistant.turn.context_builder import AssembledContext
    from spade_llm.assistant.turn.tool_calls import ExecutedToolCall
    from spade_llm.providers.messages import ContextMessage

MAX_ANSWER_BYTES = 96 * 1024
"""Maximum size of an answer in bytes, as JSON inside XML: it fits into a message with its sources.
"""
PARAGRAPH_BREAK = "\n\n"


class AnswerBuffer:
    """Paragraphs without white space around them, one for each time the model spoke."""

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
        """The rest of what is added is left out."""
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


FinishReason = Literal["stop", "length", "content_filter"]
"""Finish reason, in OpenAI's terms: complete, truncated at a limit, or replaced by a guardrail."""

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
            text = f"I stopped before I had an answer: {reason}.{self._so_far()}"
            self._end(text, text)

    def stop(self) -> None:
        """Finish a stopped turn, which has no answer, with a mark for the model."""
        # Closed before: the mark takes the place of that answer.
        if self.text:
            self.added.pop()
        self.close_as(prompt_template("turn_stopped"))

    def _so_far(self) -> str:
        names = dict.fromkeys(one.name for one in self.called)
        return f" Tools that I used: {', '.join(names)}." if names else ""

    def _end(self, text: str, said: str) -> None:
        notes = self.notes if self.is_annotated else []
        self.text = PARAGRAPH_BREAK.join([text, *notes])
        content = PARAGRAPH_BREAK.join([said, *notes])
        self.added.append({"role": "assistant", "content": content})


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
    async def __call__(
        self, utterance: ChatTurnInput, conversation: Conversation, proceed: CallNext
    ) -> TurnOutcome:
        """`proceed` runs what is within, once at most. Raises what it raises."""
        ...


def with_middleware(
    layers: Sequence[TurnMiddleware], conversation: Conversation, innermost: CallNext
) -> CallNext:
    """`innermost` with the layers around it, the first of them outermost."""
    proceed = innermost
    for layer in reversed(layers):
        proceed = partial(layer, conversation=conversation, proceed=proceed)
    return proceed
