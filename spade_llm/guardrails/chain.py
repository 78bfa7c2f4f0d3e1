"""Guardrails one after another: what goes on, or what the asker is told. Knows no agent."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.guardrails.guardrail import GuardrailAction, GuardrailResult
from spade_llm.guardrails.others_code import given_by
from spade_llm.guardrails.sides import Side, default_message

if TYPE_CHECKING:
    from spade_llm.guardrails.guardrail import Guardrail

logger = logging.getLogger(__name__)

TRIGGER_TIMEOUT_S = 5.0

OnTrigger = Callable[[GuardrailResult], Awaitable[None] | None]
"""Told of every result that is not PASS; `metadata` says which `guardrail` it was, and `on` which
side. What it raises is logged, and harms nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    text: str
    """What goes on; of what is blocked: what the asker is told."""
    is_blocked: bool = False


async def judged(
    content: str,
    context: Mapping[str, object],
    guardrails: Sequence[Guardrail],
    *,
    side: Side,
    on_trigger: OnTrigger | None = None,
) -> Judged:
    """Each judges what those before it have left; the first that blocks is the last. Raises
    nothing."""
    current = content
    for guardrail in tuple(guardrails):
        result = await guardrail(current, context)
        if result.action is GuardrailAction.PASS:
            continue
        if result.action is GuardrailAction.MODIFY:
            current = result.content or ""
        await _tell(result, guardrail, side, context, on_trigger)
        if result.action is GuardrailAction.BLOCK or not current.strip():
            text = result.custom_message or default_message(side, content)
            return Judged(text=text, is_blocked=True)
    return Judged(text=current)


async def _tell(
    result: GuardrailResult,
    guardrail: Guardrail,
    side: Side,
    context: Mapping[str, object],
    on_trigger: OnTrigger | None,
) -> None:
    """The log gets no reason: it may quote the text."""
    where, what = context.get("conversation_id"), result.action.value
    level = logging.INFO if result.action is GuardrailAction.MODIFY else logging.WARNING
    logger.log(level, "conversation %s: %s: %s by %r", where, side.value, what, guardrail.name)
    if on_trigger is not None:
        added = {"guardrail": guardrail.name, "on": side.value}
        told = replace(result, metadata={**result.metadata, **added})
        await given_by(
            partial(on_trigger, told), timeout_s=TRIGGER_TIMEOUT_S, what="on_guardrail_trigger"
        )
