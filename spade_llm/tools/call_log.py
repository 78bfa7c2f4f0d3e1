"""Who called which tool and how it ended: the role, and a log that goes with the process's own.

Knows no tool. What is written down is masked (masking.py).
"""

from __future__ import annotations

import json
import logging
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from spade_llm.tools.masking import masked, masked_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.tools.toolbox import CallContext

_log = logging.getLogger(__name__)

MAX_ARGUMENTS_CHARS = 2000
"""Of one call, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegun:
    """Written before a tool is run."""

    id: str = field(default_factory=lambda: secrets.token_hex(6))
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    caller: str
    """Bare JID, stamped by the server."""
    on_behalf_of: str = ""
    """As the caller says."""
    approved_by: str = ""
    """As the caller says."""
    tool: str
    arguments: str
    """JSON, masked and cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    id: str
    outcome: str
    """`done`, `error` (the tool's own word), `refused: CODE`, `cancelled` or `failed`."""
    duration_ms: float
    result_chars: int = 0


class CallLog(Protocol):
    def begun(self, call: CallBegun) -> None:
        """Raises StorageFailed: then the call must not be made."""
        ...

    def ended(self, call: CallEnded) -> None:
        """Never raises: the tool has run."""
        ...


class LoggerCallLog:
    """For agents that keep nothing."""

    def begun(self, call: CallBegun) -> None:
        _log.info("call %s: %s by %s with %s", call.id, call.tool, call.caller, call.arguments)

    def ended(self, call: CallEnded) -> None:
        _log.info("call %s: %s after %.1f ms", call.id, call.outcome, call.duration_ms)


def call_begun(
    caller: str, tool: str, arguments: Mapping[str, object], context: CallContext
) -> CallBegun:
    """The record of a call that is about to be made."""
    shown = json.dumps(masked(arguments), ensure_ascii=False)
    is_long = len(shown) > MAX_ARGUMENTS_CHARS
    return CallBegun(
        caller=caller,
        on_behalf_of=_text(masked_text(context.on_behalf_of)),
        approved_by=_text(masked_text(context.approved_by)),
        tool=_text(masked_text(tool)),
        arguments=_text(shown[:MAX_ARGUMENTS_CHARS] + "…" * is_long),
    )


def _text(text: str) -> str:
    """Without halves of surrogate pairs, which no file takes."""
    return text if text.isascii() else text.encode(errors="replace").decode()
