"""Takes down what a turn is built from and what it costs, while it runs. Knows no model.

The recorder is ambient, as the current span is: what is deep inside a turn notes what it did there
without each layer above handing something down. Costs go to the ledger as they arise.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm import tracing
from spade_llm.conversation.chosen import is_message
from spade_llm.conversation.prompt import citation
from spade_llm.conversation.turn_record import (
    MAX_CALLS,
    MAX_NAME_CHARS,
    MAX_NOTES,
    MAX_WHY_CHARS,
    ModelCall,
    QuotedMemoryOfTurn,
    QuotedPassageOfTurn,
    ToolOutcome,
    TurnRecord,
)
from spade_llm.conversation.usage_ledger import Spent
from spade_llm.errors import StorageFailed
from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.conversation.recall import Recalled
    from spade_llm.conversation.tool_calls import CalledTool
    from spade_llm.conversation.usage_ledger import UsageLedger
    from spade_llm.memory.store import ScoredMemory

logger = logging.getLogger(__name__)


class Recorder:
    """Record of one turn: what its answer is built from, and what it costs."""

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
        self._models: list[ModelCall] = []
        self._tools: list[ToolOutcome] = []
        self._changes: list[str] = []
        self._degraded: list[str] = []
        self._messages = (0, 0)
        self._is_counted = not is_turn

    def spend(self, spent: Spent) -> None:
        """A disk that refuses costs the count, not the person the answer."""
        if not self._is_counted:
            self._is_counted, spent = True, spent + Spent(turns=1)
        try:
            self._ledger.add(self._peer, spent, groups=self._groups)
        except StorageFailed:
            logger.exception("what %s has spent could not be written", self._peer)

    def count_turn(self) -> None:
        """One that has cost nothing counts too."""
        if not self._is_counted:
            self.spend(Spent())

    def model_called(self, call: ModelCall) -> None:
        if len(self._models) < MAX_CALLS:
            self._models.append(call)

    def tools_called(self, called: Sequence[CalledTool]) -> None:
        room = MAX_CALLS - len(self._tools)
        self._tools.extend(map(_tool, called[:room]))

    def leave_reasons_out(self) -> None:
        """Why tools failed, in their own words: those may be what guardrails are there for."""
        self._tools = [replace(one, why="") for one in self._tools]

    def read(self, *, history: int, read: int) -> None:
        """How much of the conversation the model got to read."""
        self._messages = (history, read)

    def changed(self, what: str) -> None:
        """Something changed the question or the answer, or answered instead of the model."""
        note = one_line(what, MAX_WHY_CHARS)
        if note not in self._changes and len(self._changes) < MAX_NOTES:
            self._changes.append(note)

    def degraded(self, what: str) -> None:
        """Something answered with less than it has."""
        if what not in self._degraded and len(self._degraded) < MAX_NOTES:
            self._degraded.append(what)

    def took(self, phase: str, seconds: float) -> None:
        if phase in self._phases or len(self._phases) < MAX_NOTES:
            self._phases[phase] += seconds

    def record(self, recalled: Recalled, missing: tuple[str, ...]) -> TurnRecord:
        return TurnRecord(
            at=self._at,
            seconds=time.perf_counter() - self._began,
            phases=tuple(self._phases.items()),
            models=tuple(self._models),
            tools=tuple(self._tools),
            memories=tuple(map(_memory, recalled.memories)),
            passages=tuple(
                QuotedPassageOfTurn(place=citation(found), score=round(found.score, 3))
                for found in recalled.passages
            ),
            history_messages=self._messages[0],
            read_messages=self._messages[1],
            changes=tuple(self._changes),
            degraded=tuple(self._degraded),
            missing=missing,
        )


def _memory(found: ScoredMemory) -> QuotedMemoryOfTurn:
    entry = found.entry
    return QuotedMemoryOfTurn(
        id=entry.id,
        kind="message" if is_message(found) else entry.category or entry.type,
        origin=entry.origin,
        since=entry.created_at.date(),
        score=round(found.score, 3),
    )


def _tool(called: CalledTool) -> ToolOutcome:
    return ToolOutcome(
        name=one_line(called.name or "-", MAX_NAME_CHARS),
        is_success=called.is_success,
        seconds=called.seconds,
        why="" if called.is_success else one_line(called.result or "-", MAX_WHY_CHARS),
    )


_current: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def current() -> Recorder | None:
    """The turn's that this code runs for; None: it runs for none."""
    return _current.get()


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    before = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(before)


@contextmanager
def phase(name: str) -> Iterator[tracing.Span]:
    """A part of a turn's work: its time goes to the record, and it is a span."""
    began = time.perf_counter()
    try:
        with tracing.span(name) as span:
            yield span
    finally:
        if recorder := _current.get():
            recorder.took(name, time.perf_counter() - began)
