"""Request history: the latest answered requests and the request rate, without their text."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.core.limits import FailureThrottle
from spade_llm.core.sqlite_file import FAILING_S
from spade_llm.messaging import AclMessage, Performative, peek_op
from spade_llm.messaging.body import read_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_KEPT = 200
"""Requests that are known one by one, the latest."""
MINUTE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HandledRequest:
    """Answered request, without its text."""

    at: datetime
    """Time of the answer, UTC."""
    ontology: str
    op: str
    """Empty: its ontology has none, or it was not understood."""
    asker: str
    """Bare JID of the caller; of a gateway's request, of its principal."""
    conversation: str = ""
    seconds: float
    """Duration since the arrival, including the wait in the queue."""
    outcome: str
    """`inform`; else the code of the error, for a person's chat the performative."""
    trace: str = ""
    """Id of the trace that it was a part of, as W3C Trace Context has it."""


class RequestHistory:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest: deque[HandledRequest] = deque(maxlen=MAX_KEPT)
        self._by_second: Counter[int] = Counter()
        """Number of answers by second, for a little more than the last minute."""
        self._looked_at = 0
        self.left_out: set[str] = set()
        """Ontologies that are not counted, such as status queries."""
        self.answered = 0
        """Number of answered requests since the start."""
        self._storage_failures = FailureThrottle(FAILING_S, clock)

    @property
    def per_minute(self) -> int:
        """Answered within the last minute."""
        self._drop_old()
        return self._by_second.total()

    @property
    def is_storage_failing(self) -> bool:
        """A request failed within the last minute because the disk or a database refused."""
        return self._storage_failures.is_failing

    def note_storage_failure(self) -> bool:
        """Record a storage failure; return whether to log it (once a minute)."""
        return self._storage_failures.record()

    def latest(self, limit: int, *, of: str | None = None) -> Sequence[HandledRequest]:
        """Newest first; `of`: of this asker only."""
        found = (one for one in reversed(self._latest) if of is None or one.asker == of)
        return [one for _, one in zip(range(limit), found, strict=False)]

    def note(self, request: AclMessage, answer: AclMessage, *, since_s: float) -> None:
        """`since_s`: when it arrived, on the clock."""
        if request.ontology in self.left_out:
            return
        now_s, is_read = self._clock(), answer.performative is not Performative.NOT_UNDERSTOOD
        self.answered += 1
        self._by_second[int(now_s)] += 1
        self._drop_old()
        self._latest.append(
            HandledRequest(
                at=datetime.now(UTC),
                ontology=request.ontology,
                op=peek_op(request.content) if is_read else "",
                asker=request.owner,
                conversation=request.conversation_id,
                seconds=round(now_s - since_s, 6),
                outcome=_outcome(answer),
                # The second field of W3C Trace Context; an empty parent has none.
                trace=(request.trace_parent.split("-") + [""])[1],
            )
        )

    def _drop_old(self) -> None:
        """Drop the counts of seconds before the last minute."""
        now = int(self._clock())
        # Once a second, because a dispatcher answers a thousand requests in one.
        if now == self._looked_at:
            return
        self._looked_at = now
        for second in [one for one in self._by_second if one <= now - MINUTE_S]:
            del self._by_second[second]


def _outcome(answer: AclMessage) -> str:
    if answer.performative is Performative.INFORM:
        return Performative.INFORM
    code = read_error(answer.content).code
    return code or answer.performative
