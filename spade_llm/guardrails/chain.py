"""Guardrail chain: applies guardrails in order, stops at the first block, reports triggers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from spade_llm.guardrails.guardrail import (
    Guardrail,
    GuardrailAction,
    GuardrailDirection,
    GuardrailResult,
    PartGuard,
    PartGuardPipeline,
    call_user_code,
    default_message,
)

logger = logging.getLogger(__name__)

TRIGGER_TIMEOUT_S = 5.0

OnTrigger = Callable[[GuardrailResult], Awaitable[None] | None]
"""Callback for every result other than PASS; its `metadata` has the `guardrail`'s name and the side
(`on`). Exceptions of the callback are logged."""
_OVERHEAD_S = 1.0
_STRICTEST_FIRST = (GuardrailAction.BLOCK, GuardrailAction.MODIFY, GuardrailAction.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainResult:
    text: str
    """Text to pass on; for a blocked text, the message sent instead of it."""
    is_blocked: bool = False


async def run_chain(
    content: str,
    context: Mapping[str, object],
    guardrails: Sequence[Guardrail],
    *,
    side: GuardrailDirection,
    on_trigger: OnTrigger | None = None,
) -> ChainResult:
    """Apply the guardrails in order, each to the last result, until one blocks. Never raises."""
    current = content
    # A copy: a program may change its list while a check waits.
    for guardrail in tuple(guardrails):
        result = await guardrail(current, context)
        if result.action is GuardrailAction.PASS:
            continue
        if result.action is GuardrailAction.MODIFY:
            current = result.content or ""
        await _report_trigger(result, guardrail, side, context, on_trigger)
        # A change into nothing would send an empty text, so it blocks.
        if result.action is GuardrailAction.BLOCK or not current.strip():
            text = result.custom_message or default_message(side, content)
            return ChainResult(text=text, is_blocked=True)
    return ChainResult(text=current)


class GuardedMessage(Protocol):
    """Properties of a message that guardrails receive."""

    @property
    def sender(self) -> object:
        """A JID; `str()` of it."""

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
    """Apply input guardrails and return the text for the model. None: the message is blocked, and
    the explanation was passed to `send_reply`."""
    context = {"message": message, "sender": str(message.sender), **_conversation(message)}
    found = await run_chain(
        content, context, guardrails, side=GuardrailDirection.INPUT, on_trigger=on_trigger
    )
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
    """Apply output guardrails; return the answer to send, or the message that replaces it."""
    context = {
        "original_message": original_message,
        "sender": str(original_message.sender),
        "llm_response": content,
        **_conversation(original_message),
    }
    found = await run_chain(
        content, context, guardrails, side=GuardrailDirection.OUTPUT, on_trigger=on_trigger
    )
    return found.text


class CompositeGuardrail(Guardrail):
    """Guardrail that applies several guardrails in order."""

    def __init__(
        self,
        name: str,
        guardrails: Sequence[Guardrail],
        stop_on_block: bool = True,
        enabled: bool = True,
        blocked_message: str | None = None,
    ) -> None:
        """`stop_on_block=False`: the later guardrails run after a block, too, for their reasons."""
        super().__init__(name, enabled, blocked_message)
        self.guardrails = guardrails
        self.stop_on_block = stop_on_block

    def limit_s(self) -> float:
        """The sum of the limits of all guardrails."""
        return sum(one.limit_s() for one in self.guardrails) + _OVERHEAD_S

    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        current = content
        triggered: list[GuardrailResult] = []
        for guardrail in self.guardrails:
            result = await guardrail(current, context)
            if result.action is GuardrailAction.MODIFY and result.content is not None:
                current = result.content
            if result.action is not GuardrailAction.PASS:
                triggered.append(result)
            if result.action is GuardrailAction.BLOCK and self.stop_on_block:
                break
        return self._combine_results(triggered, current)

    def part_guard(self) -> PartGuard | None:
        return combine_part_guards(self.guardrails)

    def _combine_results(
        self, triggered: Sequence[GuardrailResult], current: str
    ) -> GuardrailResult:
        actions = {one.action for one in triggered}
        strictest = next((one for one in _STRICTEST_FIRST if one in actions), GuardrailAction.PASS)
        message = next((one.custom_message for one in triggered if one.custom_message), None)
        return GuardrailResult(
            action=strictest,
            content=current,
            reason="; ".join(one.reason for one in triggered if one.reason) or None,
            custom_message=self.blocked_message or message,
        )


def combine_part_guards(guardrails: Sequence[Guardrail]) -> PartGuard | None:
    """Combine the part guards of all enabled guardrails; None if one needs the whole text."""
    stages: list[PartGuard] = []
    for guardrail in guardrails:
        if guardrail.enabled:
            stage = guardrail.part_guard()
            if stage is None:
                return None
            stages.append(stage)
    return PartGuardPipeline(stages)


async def _report_trigger(
    result: GuardrailResult,
    guardrail: Guardrail,
    side: GuardrailDirection,
    context: Mapping[str, object],
    on_trigger: OnTrigger | None,
) -> None:
    """Log a trigger without its reason, which may quote the text, and call `on_trigger`."""
    where, what = context.get("conversation_id"), result.action.value
    level = logging.INFO if result.action is GuardrailAction.MODIFY else logging.WARNING
    logger.log(level, "conversation %s: %s: %s by %r", where, side.value, what, guardrail.name)
    if on_trigger is not None:
        added = {"guardrail": guardrail.name, "on": side.value}
        told = replace(result, metadata={**result.metadata, **added})
        await call_user_code(
            partial(on_trigger, told), timeout_s=TRIGGER_TIMEOUT_S, what="on_guardrail_trigger"
        )


def _conversation(message: GuardedMessage) -> dict[str, object]:
    return {"conversation_id": message.thread or f"{message.sender}_{message.to}"}
