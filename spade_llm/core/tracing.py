"""OpenTelemetry tracing: spans of one message across agents, batched export to a collector.

Spans are recorded only if a Tracer was opened, and people's text only if it was enabled. The
current span is kept in a context variable, so layers, providers and toolboxes need no parameter.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, Self

from spade_llm.core.imports import require_extra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer as OtelTracer

FLUSH_S = 2.0
"""Maximum wait for the last spans when an agent stops; later spans are lost."""
EXPORT_TIMEOUT_S = 5.0
"""Time limit for exporting one batch to the collector, in a separate thread."""
LOG_EVERY_S = 60.0
"""Interval between log lines about an unreachable collector."""
MAX_QUEUED_SPANS = 4096
"""Spans that wait for the collector; beyond, the oldest are lost."""
MAX_TEXT_CHARS = 4000
"""Maximum length of one attribute that holds people's text."""

AttributeValue = str | int | float | bool
"""Value of a span attribute: ids, names that we assign, numbers. People's text goes through
`quote`."""

_TRACE_PARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""W3C Trace Context §3.2, as far as version 00 has it."""
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class SpanKind(Enum):
    INTERNAL = "INTERNAL"
    SERVER = "SERVER"
    """Handling of another agent's request."""
    CLIENT = "CLIENT"
    """Request to another agent."""


class Span(Protocol):
    """Span of work, from its creation until `end`."""

    @property
    def is_recorded(self) -> bool: ...

    @property
    def trace_parent(self) -> str:
        """Trace parent to pass on to other processes (W3C); empty: none."""

    def child(self, name: str, kind: SpanKind) -> Span: ...

    def rename(self, name: str) -> None: ...

    def note(self, facts: Mapping[str, AttributeValue]) -> None: ...

    def quote(self, texts: Mapping[str, str]) -> None:
        """Add texts and identities of people, texts of models; omitted unless enabled."""

    def fail(self, why: str) -> None:
        """`why` is the name of an error's class: its message may hold text of people."""

    def end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class NoopSpan:
    """Span that records nothing; it passes on its trace parent, for later agents that record."""

    trace_parent: str = ""
    is_recorded: bool = False

    def child(self, _name: str, _kind: SpanKind) -> NoopSpan:
        return self

    def rename(self, _name: str) -> None:
        """Nothing."""

    def note(self, _facts: Mapping[str, AttributeValue]) -> None:
        """Nothing."""

    def quote(self, _texts: Mapping[str, str]) -> None:
        """Nothing."""

    def fail(self, _why: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


NOOP_SPAN = NoopSpan()


def current_span() -> Span:
    return _current.get()


def span(name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
    """Start a child of the current span that becomes current in the block. Not around a `yield`."""
    parent = _current.get()
    return (
        _CurrentSpanScope(parent.child(name, kind)) if parent.is_recorded else nullcontext(parent)
    )


def detached_span(name: str, kind: SpanKind = SpanKind.INTERNAL) -> AbstractContextManager[Span]:
    """Create a span like `span` that does not become current: also allowed around a `yield`."""
    parent = _current.get()
    return _SpanScope(parent.child(name, kind)) if parent.is_recorded else nullcontext(parent)


def read_trace_parent(text: str) -> str:
    """Return a valid W3C trace parent, or an empty string: W3C requires ignoring an invalid one."""
    return text if text and _TRACE_PARENT.fullmatch(text) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingConfig:
    """Destination of spans."""

    endpoint: str
    """Base address of an OTLP/HTTP collector, for instance `http://localhost:4318`."""
    include_text: bool = False
    """Export the texts and identities of people and the texts of models too."""


class Tracer:
    """Creates the spans of one agent, and exports them in a separate thread."""

    def __init__(self, telemetry: TracingConfig | None, *, service: str, instance: str) -> None:
        """`telemetry=None` records nothing."""
        self._telemetry = telemetry
        self._names = {
            "service.name": service,
            "service.namespace": "spade-llm",
            "service.instance.id": instance,
        }
        self._provider: TracerProvider | None = None
        self._tracer: OtelTracer | None = None

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: spans are to be sent, and the extra `telemetry` is missing."""
        if self._telemetry is not None:
            require_extra("telemetry")
            # To import the exporter takes 0.1 s and more.
            self._provider = await asyncio.to_thread(self._build, self._telemetry)
            self._tracer = self._provider.get_tracer("spade_llm")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Export the remaining spans, within FLUSH_S."""
        provider, self._provider, self._tracer = self._provider, None, None
        if provider is not None:
            is_done = threading.Event()

            def shut_down() -> None:
                provider.shutdown()
                is_done.set()

            # The library's own bound is 30 s; a daemon does not hold up the process either.
            threading.Thread(target=shut_down, daemon=True).start()
            await asyncio.to_thread(is_done.wait, FLUSH_S)

    def serving(self, name: str, trace_parent: str) -> AbstractContextManager[Span]:
        """Start the span of a received message: in its sender's trace, or in a new one."""
        if self._tracer is None or self._telemetry is None:
            return (
                _CurrentSpanScope(NoopSpan(trace_parent))
                if trace_parent
                else nullcontext(NOOP_SPAN)
            )
        remote = _RecordedSpan(self._tracer, _remote(trace_parent), self._telemetry.include_text)
        return _CurrentSpanScope(remote.child(name, SpanKind.SERVER))

    def _build(self, telemetry: TracingConfig) -> TracerProvider:
        # Imported here: they belong to an extra, and the exporter takes 0.1 s and more.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        logging.getLogger(_EXPORTER).addFilter(_LOG_THROTTLE)
        exporter = OTLPSpanExporter(
            endpoint=f"{telemetry.endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_TIMEOUT_S
        )
        # `__aexit__` shuts it down within FLUSH_S; the library's own exit hook would wait longer.
        provider = TracerProvider(resource=Resource.create(self._names), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=MAX_QUEUED_SPANS))
        return provider


_current: ContextVar[Span] = ContextVar("span", default=NOOP_SPAN)


class _LogThrottle:
    """Throttles log lines: an unreachable collector causes three per batch."""

    def __init__(self) -> None:
        self._again_at = 0.0

    def filter(self, _record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._again_at:
            return False
        self._again_at = now + LOG_EVERY_S
        return True


_LOG_THROTTLE = _LogThrottle()
"""Log filter shared by the whole process, as its loggers are."""


class _RecordedSpan:
    """Span that is exported to the collector."""

    is_recorded = True

    def __init__(self, tracer: OtelTracer, span: OtelSpan, includes_text: bool) -> None:
        self._tracer = tracer
        self._span = span
        self._includes_text = includes_text

    @property
    def trace_parent(self) -> str:
        own = self._span.get_span_context()
        return f"00-{own.trace_id:032x}-{own.span_id:016x}-{int(own.trace_flags):02x}"

    def child(self, name: str, kind: SpanKind) -> _RecordedSpan:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        # An empty Context: what others made current in this thread is no parent of ours.
        within = set_span_in_context(self._span, Context())
        begun = self._tracer.start_span(name, context=within, kind=SpanKind[kind.value])
        return _RecordedSpan(self._tracer, begun, self._includes_text)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, facts: Mapping[str, AttributeValue]) -> None:
        self._span.set_attributes({key: _sendable(value) for key, value in facts.items()})

    def quote(self, texts: Mapping[str, str]) -> None:
        if self._includes_text:
            self.note({key: text[:MAX_TEXT_CHARS] for key, text in texts.items()})

    def fail(self, why: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._span.set_status(Status(StatusCode.ERROR))
        self.note({"error.type": why})

    def end(self) -> None:
        self._span.end()


def _sendable(value: AttributeValue) -> AttributeValue:
    """Replace lone surrogates."""
    # A single one would lose the whole batch.
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _remote(trace_parent: str) -> OtelSpan:
    """Remote parent span of another process."""
    from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags

    if not trace_parent:
        return INVALID_SPAN
    _, trace_id, span_id, flags = trace_parent.split("-")
    return NonRecordingSpan(
        SpanContext(
            int(trace_id, 16),
            int(span_id, 16),
            is_remote=True,
            trace_flags=TraceFlags(int(flags, 16)),
        )
    )


class _SpanScope:
    """Context manager that ends a span, and records an exception."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> Span:
        return self._span

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Closing a stream early is not a failure.
        if kind not in (None, GeneratorExit):
            self._span.fail(kind.__name__)
        self._span.end()


class _CurrentSpanScope:
    """Context manager that makes a span current, and ends it."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._ending = _SpanScope(span)
        self._before: Token[Span] | None = None

    def __enter__(self) -> Span:
        self._before = _current.set(self._span)
        return self._span

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._before is not None:
            _current.reset(self._before)
        self._ending.__exit__(kind, *rest)
