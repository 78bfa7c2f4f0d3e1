"""CompositeGuardrail: several guardrails as one, each over what those before it have left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.guardrails.guardrail import Guardrail, GuardrailAction, GuardrailResult
from spade_llm.guardrails.part_guard import Pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.guardrails.part_guard import PartGuard


class CompositeGuardrail(Guardrail):
    def __init__(
        self,
        name: str,
        guardrails: Sequence[Guardrail],
        stop_on_block: bool = True,
        enabled: bool = True,
        blocked_message: str | None = None,
    ) -> None:
        """`stop_on_block=False`: the others are asked, too, for their reasons; it still blocks."""
        super().__init__(name, enabled, blocked_message)
        self.guardrails = guardrails
        self.stop_on_block = stop_on_block

    def limit_s(self) -> float:
        """Each has its own limit within."""
        return sum(one.limit_s() for one in self.guardrails) + _OWN_S

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
        return self._of_all(triggered, current)

    def part_guard(self) -> PartGuard | None:
        return part_guard_of(self.guardrails)

    def _of_all(self, triggered: Sequence[GuardrailResult], current: str) -> GuardrailResult:
        actions = {one.action for one in triggered}
        strictest = next((one for one in _STRICTEST_FIRST if one in actions), GuardrailAction.PASS)
        message = next((one.custom_message for one in triggered if one.custom_message), None)
        return GuardrailResult(
            action=strictest,
            content=current,
            reason="; ".join(one.reason for one in triggered if one.reason) or None,
            custom_message=self.blocked_message or message,
        )


def part_guard_of(guardrails: Sequence[Guardrail]) -> PartGuard | None:
    """Of all that are enabled; None if one of them wants the whole text."""
    stages: list[PartGuard] = []
    for guardrail in guardrails:
        if guardrail.enabled:
            stage = guardrail.part_guard()
            if stage is None:
                return None
            stages.append(stage)
    return Pipeline(stages)


_OWN_S = 1.0
_STRICTEST_FIRST = (GuardrailAction.BLOCK, GuardrailAction.MODIFY, GuardrailAction.WARNING)
