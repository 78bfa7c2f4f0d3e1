"""Middleware around a turn: each layer is one concern, in one file, and calls the next.

A layer may answer itself, change what was said or what is answered, or note what it cost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.conversation.recall import Recalled
from spade_llm.conversation.turn import TurnResult

if TYPE_CHECKING:
    from spade_llm.conversation.built_context import Built
    from spade_llm.conversation.history import Conversation
    from spade_llm.services.chat import Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one thing said."""

    question: str
    """As the model got it, and as history and memory keep it."""
    result: TurnResult = field(default_factory=TurnResult)
    recalled: Recalled = Recalled()
    missing: tuple[str, ...] = ()
    """Services that could not be asked."""
    is_kept: bool = True
    """False: nothing of it goes into the conversation's history or to memory."""
    said: str | None = None
    """What who asked is told, if it is not the result's text."""
    routed_to: tuple[str, ...] = ()
    """Whom the answer went to; empty: who asked."""
    built: Built | None = None
    """What the model was told, where somebody wished to decide it."""
    is_for_asker: bool = True
    """False: it went to others only; a program's request ends with it all the same."""


Proceed = Callable[["Utterance"], Awaitable[Outcome]]


class Layer(Protocol):
    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        """`proceed` runs what is within, once at most. Raises what it raises."""
        ...


def layered(layers: Sequence[Layer], conversation: Conversation, innermost: Proceed) -> Proceed:
    """`innermost` with the layers around it, the first of them outermost."""
    proceed = innermost
    for layer in reversed(layers):
        proceed = partial(layer, conversation=conversation, proceed=proceed)
    return proceed
