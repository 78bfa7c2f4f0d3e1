"""A collector of OpenTelemetry spans that keeps what it gets: OTLP over HTTP. Knows no agent."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PATIENCE_S = 30.0
SERVER, CLIENT = 2, 3
"""Kinds of spans, as OTLP numbers them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    """Empty: it begins a trace."""
    kind: int
    facts: dict[str, object]
    is_error: bool


@dataclass(slots=True, kw_only=True)
class Receiver:
    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    payload: bytes = b""
    """All that came, as it came."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, is_enough: Callable[[Receiver], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not is_enough(self):
                self.arrived.clear()
                await self.arrived.wait()

    def named(self, name: str, service: str = "") -> list[ReceivedSpan]:
        return [one for one in self.spans if one.name == name and service in ("", one.service)]

    def served(self, name: str, service: str) -> ReceivedSpan:
        """The one span of this service's answering."""
        (span,) = (one for one in self.named(name, service) if one.kind == SERVER)
        return span

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.payload += body
        self.spans.extend(_spans(ExportTraceServiceRequest.FromString(body)))
        self.arrived.set()
        await self.may_answer.wait()
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(),
            content_type="application/x-protobuf",
        )


def _spans(request: ExportTraceServiceRequest) -> list[ReceivedSpan]:
    found = []
    for of_resource in request.resource_spans:
        named = {one.key: one.value.string_value for one in of_resource.resource.attributes}
        for of_scope in of_resource.scope_spans:
            found += [
                ReceivedSpan(
                    service=named["service.name"],
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    kind=span.kind,
                    facts={
                        fact.key: getattr(fact.value, fact.value.WhichOneof("value") or "")
                        for fact in span.attributes
                    },
                    is_error=span.status.code == span.status.STATUS_CODE_ERROR,
                )
                for span in of_scope.spans
            ]
    return found


@asynccontextmanager
async def running_receiver(*, is_slow: bool = False) -> AsyncIterator[Receiver]:
    """`is_slow`: it answers when `may_answer` is set, and not before."""
    receiver = Receiver()
    if not is_slow:
        receiver.may_answer.set()
    app = web.Application()
    app.router.add_post("/v1/traces", receiver.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}"
    try:
        yield receiver
    finally:
        receiver.may_answer.set()
        await runner.cleanup()
