"""TurnResult: a turn's answer and what it leaves in the history, at any time of it. Knows no
model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from spade_llm.conversation.prompt_files import prompt_text
from spade_llm.conversation.spoken import BREAK, Spoken
from spade_llm.providers.model import Usage

if TYPE_CHECKING:
    from spade_llm.conversation.tool_calls import CalledTool
    from spade_llm.providers.messages import ContextMessage

Finish = Literal["stop", "length", "content_filter"]
"""How an answer ended, in OpenAI's words: whole, cut at a limit, or replaced by a guardrail."""

NO_ANSWER = "(The model gave no answer.)"
CUT_OFF = "(This answer was cut off: it reached the model's limit of length.)"
TOO_LONG = "(This answer was cut off: it is longer than one message.)"


@dataclass(slots=True, kw_only=True)
class TurnResult:
    """Filled on the way. Whoever closes it leaves a history that can be gone on with."""

    text: str = ""
    """The whole answer, notes included. What was streamed is the beginning of it."""
    added: list[ContextMessage] = field(default_factory=list)
    """Calls, results and the answer: what follows the user's message."""
    usage: Usage = field(default_factory=Usage)
    called: list[CalledTool] = field(default_factory=list)
    """In the order of the model's wishes."""
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
    finish: Finish = "stop"
    model_calls: int = 0
    spoken: Spoken = field(default_factory=Spoken, repr=False)
    notes: list[str] = field(default_factory=list)
    """For the asker, below the answer."""

    def close(self, *, is_cut_off: bool = False) -> None:
        """With what the model said."""
        if self.spoken.is_full or is_cut_off:
            self.finish = "length"
        if self.finish == "length" and self.is_annotated:
            self.notes.insert(0, TOO_LONG if self.spoken.is_full else CUT_OFF)
            self._end(f"{self.spoken.text} …", f"{self.spoken.last_paragraph} …")
        else:
            no_answer = NO_ANSWER if self.is_annotated else ""
            self._end(self.spoken.text or no_answer, self.spoken.last_paragraph or no_answer)

    def close_as(self, text: str) -> None:
        """With this text, instead of what the model said."""
        self.notes.clear()
        self._end(text, text)

    def break_off(self, reason: str) -> None:
        """With what there is so far. `reason`: a sentence that follows a colon."""
        self.finish = "length"
        if self.spoken.text:
            self.notes.append(f"(I stopped here: {reason}.)")
            self._end(self.spoken.text, self.spoken.last_paragraph)
        else:
            text = f"I stopped before I had an answer: {reason}.{self._so_far()}"
            self._end(text, text)

    def stop(self) -> None:
        """With a mark for the model, where nobody gets an answer."""
        if self.text:
            self.added.pop()
        self.close_as(prompt_text("turn_stopped"))

    def _so_far(self) -> str:
        names = dict.fromkeys(one.name for one in self.called)
        return f" Tools that I used: {', '.join(names)}." if names else ""

    def _end(self, text: str, said: str) -> None:
        notes = self.notes if self.is_annotated else []
        self.text = BREAK.join([text, *notes])
        content = BREAK.join([said, *notes])
        self.added.append({"role": "assistant", "content": content})
