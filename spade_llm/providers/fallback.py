"""Fallback model (circuit breaker), and model health: the last failure, for the operator."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Unpack

from pydantic import BaseModel, ConfigDict

from spade_llm.core.errors import (
    ContextTooLong,
    InvalidModelOutput,
    ModelDenied,
    ModelError,
    ModelFailure,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.core.text import pluralize
from spade_llm.providers.model import (
    CallOptions,
    ChatModel,
    Completion,
    ContextMessage,
    TextDelta,
    ToolSpec,
    closing_stream,
)

logger = logging.getLogger(__name__)

OPEN_CIRCUIT_S = 30.0
"""Pause in seconds after the first failure; it doubles with each further one."""
MAX_OPEN_CIRCUIT_S = 300.0

ANSWER_TIMEOUT_S = 30.0
NOTIFY_EVERY_S = 10.0
"""Minimum interval in seconds between two notifications of listeners about the same fault."""
UNAVAILABLE_ERRORS = (ModelUnavailable, RateLimited, ModelDenied)
"""Errors after which a model is not called for a while (the circuit opens)."""
FALLBACK_ERRORS = (*UNAVAILABLE_ERRORS, InvalidModelOutput)
"""Errors after which another model is tried; not a prompt that is too long or wrong."""


@dataclass(slots=True, kw_only=True)
class CircuitBreaker:
    """Circuit breaker of one model. Closed: ask. Open: don't, until the pause is over; then one
    probe decides."""

    now: Callable[[], float] = field(default=time.monotonic, repr=False)
    _failures: int = 0
    _paused_until: float = 0.0
    _is_probing: bool = False

    @property
    def is_open(self) -> bool:
        """It failed when it was asked last."""
        return self._failures > 0

    @property
    def allows_call(self) -> bool:
        """True if the circuit is closed, or a probe is due and none is running."""
        return not self.is_open or (not self._is_probing and self.now() >= self._paused_until)

    @contextmanager
    def track_call(self) -> Iterator[None]:
        """Mark a call as running; if the circuit is open, the call is the probe."""
        is_probe = self.is_open
        self._is_probing = self._is_probing or is_probe
        try:
            yield
        finally:
            self._is_probing = self._is_probing and not is_probe

    def succeed(self) -> None:
        self._failures = 0

    def fail(self, *, retry_after_s: float | None = None) -> None:
        """Open the circuit. `retry_after_s`: the pause that the server asks for; it is limited to
        MAX_OPEN_CIRCUIT_S."""
        # The exponent is bounded, because 2.0 ** 1024 overflows.
        pause_s = max(OPEN_CIRCUIT_S * 2.0 ** min(self._failures, 10), retry_after_s or 0.0)
        self._failures += 1
        self._paused_until = self.now() + min(pause_s, MAX_OPEN_CIRCUIT_S)


@dataclass(slots=True, kw_only=True)
class _Candidate:
    model: ChatModel
    circuit: CircuitBreaker = field(default_factory=CircuitBreaker)
    error: ModelError | None = None
    """Error of the last failed call; None if the model works."""


class FallbackModel:
    """ChatModel that calls several models in the given order until one answers.

    An unavailable model is called again after a pause, by a single call. There is no switch to the
    next model once text has been streamed. The models are not closed here; that is up to the
    caller.
    """

    def __init__(
        self,
        primary: ChatModel,
        *fallbacks: ChatModel,
        patience_s: float = ANSWER_TIMEOUT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`patience_s`: how long each but the last is waited for, in a stream: for its beginning;
        its own repeated attempts count."""
        self._candidates = [
            _Candidate(model=model, circuit=CircuitBreaker(now=now))
            for model in (primary, *fallbacks)
        ]
        self._patience_s = patience_s

    @property
    def name(self) -> str:
        """Name of the model that would be called now, and of the preferred one: `llama3 (for
        gpt-5-mini, which is away)`."""
        first = self._candidates[0]
        working = [one.model.name for one in self._candidates if not one.circuit.is_open]
        if working and first.circuit.is_open:
            return f"{working[0]} (for {first.model.name}, which is away)"
        others = ", ".join(candidate.model.name for candidate in self._candidates[1:])
        return f"{first.model.name} (else {others})" if others else first.model.name

    @property
    def error(self) -> ModelError | None:
        """Error of the preferred model; None if it is available."""
        return self._candidates[0].error

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        failures = _Failures()
        for candidate, patience_s in self._in_order():
            try:
                async with _guarded_call(candidate, patience_s):
                    completion = await candidate.model.complete(messages, tools, **options)
                return self._with_origin(completion, candidate)
            except ModelError as error:
                failures.add_or_raise(candidate, error)
        raise failures.first()

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        failures = _Failures()
        for candidate, patience_s in self._in_order():
            has_begun = False
            answer = candidate.model.stream(messages, tools, **options)
            try:
                async with _guarded_call(candidate, patience_s) as clock, closing_stream(answer):
                    async for part in answer:
                        # Only the wait for the beginning is bounded here.
                        clock.reschedule(None)
                        has_begun = True
                        yield (
                            self._with_origin(part, candidate)
                            if isinstance(part, Completion)
                            else part
                        )
                return
            except ModelError as error:
                # No model continues the sentence of another one.
                if has_begun:
                    raise
                failures.add_or_raise(candidate, error)
        raise failures.first()

    def _with_origin(self, completion: Completion, candidate: _Candidate) -> Completion:
        """The completion with the name of the model that answered."""
        return replace(
            completion,
            model=completion.model or candidate.model.name,
            is_fallback=candidate is not self._candidates[0],
        )

    def _in_order(self) -> list[tuple[_Candidate, float | None]]:
        """Return the models in order, each with its timeout; unavailable ones are last, but not
        excluded."""
        # The sort is stable: within both groups the given order holds.
        *others, last = sorted(self._candidates, key=lambda one: not one.circuit.allows_call)
        # The last one has no timeout here: there is no other to call instead.
        return [*((one, self._patience_s) for one in others), (last, None)]


class _Failures:
    """Errors of one call."""

    def __init__(self) -> None:
        self._errors: list[ModelError] = []

    def add_or_raise(self, candidate: _Candidate, error: ModelError) -> None:
        """Raise an error that another model would not avoid; else note it."""
        if not isinstance(error, FALLBACK_ERRORS):
            raise self._errors[0] if self._errors else error
        if not isinstance(error, UNAVAILABLE_ERRORS):  # Those are told once, by the circuit.
            logger.warning("The model %s gave no answer (%s).", candidate.model.name, error.code)
        self._errors.append(error)

    def first(self) -> ModelError:
        """The first: of the model that was preferred."""
        return self._errors[0]


@asynccontextmanager
async def _guarded_call(
    candidate: _Candidate, patience_s: float | None
) -> AsyncIterator[asyncio.Timeout]:
    """Keeps the circuit. Raises ModelUnavailable if it takes longer than we are patient."""
    circuit = candidate.circuit
    try:
        with circuit.track_call():
            async with asyncio.timeout(patience_s) as clock:
                yield clock
    except TimeoutError:
        error = ModelUnavailable(
            f"{candidate.model.name} did not answer in {patience_s} s.", cause=ModelFailure.TIMEOUT
        )
        _record_unavailable(candidate, error)
        raise error from None
    except UNAVAILABLE_ERRORS as error:
        _record_unavailable(candidate, error)
        raise
    if circuit.is_open:
        logger.info("The model %s is available again.", candidate.model.name)
    circuit.succeed()
    candidate.error = None


def _record_unavailable(candidate: _Candidate, error: ModelError) -> None:
    retry_after_s = error.retry_after if isinstance(error, RateLimited) else None
    candidate.circuit.fail(retry_after_s=retry_after_s)
    candidate.error = error
    logger.warning(
        "The model %s is unavailable: %s Calling the next one.", candidate.model.name, error
    )


class ModelFault(BaseModel):
    """Current fault of a model, for its operator."""

    model_config = ConfigDict(frozen=True)

    text: str
    """A sentence that names the server and never the key."""
    cause: ModelFailure = ModelFailure.OTHER
    since: datetime
    latest: datetime
    calls: int
    """Number of failed calls since then."""

    def __str__(self) -> str:
        times = pluralize(self.calls, "call")
        return f"{self.text} ({times} since {self.since.astimezone():%Y-%m-%d %H:%M:%S})"


class ModelHealth:
    """Records the last fault of a model, and notifies listeners of changes."""

    def __init__(self) -> None:
        self.fault: ModelFault | None = None
        """Current fault; None if the last call succeeded, or there was none yet."""
        self.on_change: list[Callable[[ModelFault | None], None]] = []
        self._notified_at = datetime.min.replace(tzinfo=UTC)

    def fail(self, error: ModelError) -> None:
        if isinstance(error, ContextTooLong):
            return  # The model answered; the conversation is too long for it.
        now, before = datetime.now(UTC), self.fault
        is_same = before is not None and before.text == str(error)
        self.fault = ModelFault(
            text=str(error),
            cause=error.cause,
            since=before.since if before else now,
            latest=now,
            calls=(before.calls if before else 0) + 1,
        )
        if not is_same or (now - self._notified_at).total_seconds() >= NOTIFY_EVERY_S:
            self._notify(now)

    def succeed(self) -> None:
        if self.fault is not None:
            self.fault = None
            self._notify(datetime.now(UTC))

    def _notify(self, now: datetime) -> None:
        self._notified_at = now
        for listener in self.on_change:
            listener(self.fault)
