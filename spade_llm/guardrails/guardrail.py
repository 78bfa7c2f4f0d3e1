"""Guardrail: looks at a text on its way to the model or to a person. Knows no agent and no wire.

The names and their meaning are those of spade_llm 0.2/0.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """For the log, never for the asker."""
    metadata: dict[str, object] = field(default_factory=dict)
    custom_message: str | None = None
    """For the asker, if it is blocked."""


class Guardrail(ABC):
    """Subclass it, or use those of this package. What `check` raises counts as BLOCK."""

    def __init__(self, name: str, enabled: bool = True, blocked_message: str | None = None) -> None:
        self.name = name
        self.enabled = enabled
        self.blocked_message = blocked_message

    @abstractmethod
    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        """`context` has `sender` (bare JID), `conversation_id` and, for output, `original_message`
        (what was asked)."""
