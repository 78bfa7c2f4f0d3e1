"""Turn recorder: model calls, tool calls, quoted memories and durations of one answer."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.prompt import citation, is_message
from spade_llm.assistant.turn.usage_ledger import UsageTotals
from spade_llm.core import tracing
from spade_llm.core.errors import StorageFailed
from spade_llm.core.text import single_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.assistant.turn.tool_calls import ExecutedToolCall
    from spade_llm.assistant.turn.usage_ledger import UsageLedger
    from spade_llm.memory.contract import ScoredMemory

MAX_CALLS = 64
"""Model calls and tool calls of one turn that its record names; beyond, they are only counted."""
MAX_NOTES = 16
MAX_NAME_CHARS = 64
MAX_WHY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallRecord:
    model: str
    """The one that answered: a fallback's name, where it was one."""
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    is_estimated: bool
    """No server has counted the tokens."""
    error: str = ""
    """Its kind, if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    name: str
    is_success: bool
    seconds: float
    why: str = ""
    """Reason of the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedMemoryRecord:
    id: str
    kind: str
    """Its category or type; `message`: something that was said."""
    origin: str
    """Origin of the memory (`Origin` in memory/contract)."""
    since: date
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedPassageRecord:
    place: str
    """Source, number of the passage, and page."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    at: datetime
    seconds: float
    phases: tuple[tuple[str, float], ...] = ()
    """Seconds of each part of the work, by name; parts may run side by side."""
    models: tuple[ModelCallRecord, ...] = ()
    tools: tuple[ToolCallRecord, ...] = ()
    memories: tuple[QuotedMemoryRecord, ...] = ()
    passages: tuple[QuotedPassageRecord, ...] = ()
    history_messages: int = 0
    """Number of messages in the conversation at the last model call."""
    read_messages: int = 0
    """Number of those messages that the context strategy gave the model."""
    changes: tuple[str, ...] = ()
    """Components that changed the question or the answer, or answered instead of the model."""
    degraded: tuple[str, ...] = ()
    """Services that answered with reduced quality."""
    missing: tuple[str, ...] = ()
    """Services that were unavailable."""


logger = logging.getLogger(__name__)


class TurnRecorder:
    """Recorder of one turn's usage, calls and sources."""

    def __init__(
        self, ledger: UsageLedger, *, peer: str, groups: Sequence[str] = (), is_turn: bool = True
    ) -> None:
        """`groups`: quota groups that the costs count for, beside the peer. `is_turn=False`: of
        what is worked out for this peer between its turns."""
        self._ledger = ledger
        self._peer = peer
        self._groups = groups
        self._at = datetime.now(UTC)
        self._began = time.perf_counter()
        self._phases: defaultdict[str, float] = defaultdict(float)
        self._models: list[ModelCallRecord] = []
        self._tools: list[ToolCallRecord] = []
        self._changes: list[str] = []
        self._degraded: list[str] = []
        self._messages = (0, 0)
        self._is_counted = not is_turn

    def spend(self, spent: UsageTotals) -> None:
        """A disk that refuses costs the count, not the person the answer."""
        if not self._is_counted:
            self._is_counted, spent = True, spent + UsageTotals(turns=1)
        try:
            self._ledger.add(self._peer, spent, groups=self._groups)
        except StorageFailed:
            logger.exception("what %s has spent could not be written", self._peer)

    def count_turn(self) -> None:
        """Count the turn, even if it had no cost."""
        if not self._is_counted:
            self.spend(UsageTotals())

    def model_called(self, call: ModelCallRecord) -> None:
        if len(self._models) < MAX_CALLS:
            self._models.append(call)

    def tools_called(self, called: Sequence[ExecutedToolCall]) -> None:
        room = MAX_CALLS - len(self._tools)
        self._tools.extend(map(_tool, called[:room]))

    def leave_reasons_out(self) -> None:
        """Remove the tools' error texts: they may contain what guardrails block."""
        self._tools = [replace(one, why="") for one in self._tools]

    def read(self, *, history: int, read: int) -> None:
        """Set the number of messages in the history, and of those given to the model."""
        self._messages = (history, read)

    def changed(self, what: str) -> None:
        """Something changed the question or the answer, or answered instead of the model."""
        note = single_line(what, MAX_WHY_CHARS)
        if note not in self._changes and len(self._changes) < MAX_NOTES:
            self._changes.append(note)

    def degraded(self, what: str) -> None:
        """Something answered with less than it has."""
        if what not in self._degraded and len(self._degraded) < MAX_NOTES:
            self._degraded.append(what)

    def took(self, phase: str, seconds: float) -> None:
        if phase in self._phases or len(self._phases) < MAX_NOTES:
            self._phases[phase] += seconds

    def record(self, recalled: RecallResult, missing: tuple[str, ...]) -> TurnRecord:
        return TurnRecord(
            at=self._at,
            seconds=time.perf_counter() - self._began,
            phases=tuple(self._phases.items()),
            models=tuple(self._models),
            tools=tuple(self._tools),
            memories=tuple(map(_memory, recalled.memories)),
            passages=tuple(
                QuotedPassageRecord(place=citation(found), score=round(found.score, 3))
                for found in recalled.passages
            ),
            history_messages=self._messages[0],
            read_messages=self._messages[1],
            changes=tuple(self._changes),
            degraded=tuple(self._degraded),
            missing=missing,
        )


def _memory(found: ScoredMemory) -> QuotedMemoryRecord:
    entry = found.entry
    return QuotedMemoryRecord(
        id=entry.id,
        kind="message" if is_message(found) else entry.category or entry.type,
        origin=entry.origin,
        since=entry.created_at.date(),
        score=round(found.score, 3),
    )


def _tool(called: ExecutedToolCall) -> ToolCallRecord:
    return ToolCallRecord(
        name=single_line(called.name or "-", MAX_NAME_CHARS),
        is_success=called.is_success,
        seconds=called.seconds,
        why="" if called.is_success else single_line(called.result or "-", MAX_WHY_CHARS),
    )


_current: ContextVar[TurnRecorder | None] = ContextVar("recorder", default=None)


def current_recorder() -> TurnRecorder | None:
    """The turn's that this code runs for; None: it runs for none."""
    return _current.get()


@contextmanager
def recording(recorder: TurnRecorder) -> Iterator[None]:
    before = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(before)


@contextmanager
def record_phase(name: str) -> Iterator[tracing.Span]:
    """A part of a turn's work: its time goes to the record, and it is a span."""
    began = time.perf_counter()
    try:
        with tracing.span(name) as span:
            yield span
    finally:
        if recorder := _current.get():
            recorder.took(name, time.perf_counter() - began)
