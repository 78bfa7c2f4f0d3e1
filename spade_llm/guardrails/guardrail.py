"""Guardrail: looks at a text on its way to the model or to a person. Knows no agent and no wire.

The names and their meaning are those of spade_llm 0.2/0.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from spade_llm.guardrails.others_code import Failed, given_by
from spade_llm.text.surrogates import is_encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.guardrails.part_guard import PartGuard

CHECK_TIMEOUT_S = 10.0
MAX_CHARS = 200_000
"""A longer text is blocked: more than any message can carry."""


class GuardrailAction(Enum):
    PASS = "pass"
    MODIFY = "modify"
    """Go on with `content` instead."""
    BLOCK = "block"
    """Go no further; the asker gets `custom_message`, or the guardrail's `blocked_message`."""
    WARNING = "warning"
    """Go on, and note it."""


@dataclass(slots=True)
class GuardrailResult:
    action: GuardrailAction
    content: str | None = None
    """What goes on; None: the text as it was."""
    reason: str | None = None
    """For `on_guardrail_trigger`, never for the asker, and in no log: it may quote the text."""
    metadata: dict[str, object] = field(default_factory=dict)
    custom_message: str | None = None
    """For the asker, if it is blocked."""


class Guardrail(ABC):
    """Subclass it, or use those of this package. What `check` raises counts as BLOCK."""

    timeout_s: float = CHECK_TIMEOUT_S
    """A check that takes longer counts as BLOCK."""

    def __init__(self, name: str, enabled: bool = True, blocked_message: str | None = None) -> None:
        self.name = name
        self.enabled = enabled
        self.blocked_message = blocked_message

    @abstractmethod
    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        """`context` has `sender` (bare JID), `conversation_id` and, for output, `original_message`
        (what was asked)."""

    async def __call__(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        """`check` as it is to be used: PASS while this is not enabled, and BLOCK for whatever
        raises, takes too long or is no result. Raises nothing."""
        if not self.enabled:
            return GuardrailResult(action=GuardrailAction.PASS, content=content)
        if len(content) > MAX_CHARS:
            return self._blocked(f"over {MAX_CHARS} characters are not checked")
        given = await given_by(
            partial(self.check, content, dict(context)),
            timeout_s=self.limit_s(),
            what=f"guardrail {self.name!r}",
        )
        if isinstance(given, Failed):
            return self._blocked(given.reason)
        return self._worded(given) if _is_sound(given) else self._blocked("it gave no sound result")

    def limit_s(self) -> float:
        return self.timeout_s

    def part_guard(self) -> PartGuard | None:
        """For one answer that comes in parts; None: only the whole text can be judged."""
        return None

    def _blocked(self, reason: str) -> GuardrailResult:
        return GuardrailResult(
            action=GuardrailAction.BLOCK, reason=reason, custom_message=self.blocked_message
        )

    def _worded(self, result: GuardrailResult) -> GuardrailResult:
        if result.action is GuardrailAction.BLOCK and not result.custom_message:
            result.custom_message = self.blocked_message
        return result


def _is_sound(given: object) -> TypeGuard[GuardrailResult]:
    """A change must say into what, in text that can be sent."""
    if not isinstance(given, GuardrailResult) or not isinstance(given.action, GuardrailAction):
        return False
    if not isinstance(given.custom_message, str | None):
        return False
    return given.action is not GuardrailAction.MODIFY or _is_text(given.content)


def _is_text(given: object) -> bool:
    return isinstance(given, str) and is_encodable(given)
