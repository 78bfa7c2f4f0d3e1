"""Turn middleware chain: the middleware protocol, call-next, and the outcome of a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.tool_loop import TurnResult

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.assistant.turn.context_builder import AssembledContext


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
