"""apply_input_guardrails and apply_output_guardrails: for programs that hold messages of their own.

The names and their meaning are those of spade_llm 0.2/0.3. Knows no wire: SPADE's Message fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from spade_llm.guardrails.chain import judged
from spade_llm.guardrails.sides import Side

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.guardrails.chain import OnTrigger
    from spade_llm.guardrails.guardrail import Guardrail


class GuardedMessage(Protocol):
    """What of a message guardrails are told."""

    @property
    def sender(self) -> object:
        """A JID; `str()` of it."""
        ...

    @property
    def to(self) -> object: ...

    @property
    def thread(self) -> str | None: ...


class Answer(Protocol):
    body: str | None


A_co = TypeVar("A_co", bound=Answer, covariant=True)
A = TypeVar("A", bound=Answer)


class AnswerableMessage(GuardedMessage, Protocol, Generic[A_co]):
    def make_reply(self) -> A_co: ...


async def apply_input_guardrails(
    content: str,
    message: AnswerableMessage[A],
    guardrails: Sequence[Guardrail],
    on_trigger: OnTrigger | None = None,
    send_reply: Callable[[A], Awaitable[None] | None] | None = None,
) -> str | None:
    """What goes on to the model. None: it is blocked; `send_reply` was given what says so."""
    context = {"message": message, "sender": str(message.sender), **_conversation(message)}
    found = await judged(content, context, guardrails, side=Side.INPUT, on_trigger=on_trigger)
    if not found.is_blocked:
        return found.text
    if send_reply is not None:
        reply = message.make_reply()
        reply.body = found.text
        sent = send_reply(reply)
        if sent is not None:
            await sent
    return None


async def apply_output_guardrails(
    content: str,
    original_message: GuardedMessage,
    guardrails: Sequence[Guardrail],
    on_trigger: OnTrigger | None = None,
) -> str:
    """What goes to the asker: the answer, or what is said instead of it."""
    context = {
        "original_message": original_message,
        "sender": str(original_message.sender),
        "llm_response": content,
        **_conversation(original_message),
    }
    found = await judged(content, context, guardrails, side=Side.OUTPUT, on_trigger=on_trigger)
    return found.text


def _conversation(message: GuardedMessage) -> dict[str, object]:
    return {"conversation_id": message.thread or f"{message.sender}_{message.to}"}
