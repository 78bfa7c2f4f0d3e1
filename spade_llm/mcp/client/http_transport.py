"""HTTP transports (streamable, SSE) with bounded responses."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from spade_llm.mcp.client.flow_control import MAX_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.client._transport import TransportStreams

    from spade_llm.mcp.client.flow_control import TrafficBudget
    from spade_llm.mcp.client.servers import HttpServer

CONNECT_TIMEOUT_S = 10.0
SESSION_END_TIMEOUT_S = 2.0
READ_TIMEOUT_S = 3600.0
"""Read timeout between two events in seconds. A call has its own deadline, and an idle stream may
be silent for long."""


@asynccontextmanager
async def http_streams(where: HttpServer, budget: TrafficBudget) -> AsyncIterator[TransportStreams]:
    """Raises httpx2.HTTPError, also in groups."""
    if where.transport == "sse":

        def make_client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            del headers, timeout, auth  # The SDK's defaults: ours are set below.
            return _client(where.headers, budget)

        async with sse_client(where.url, httpx_client_factory=make_client) as streams:
            yield streams
    else:
        async with (
            _client(where.headers, budget) as client,
            streamable_http_client(
                where.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
            ) as streams,
        ):
            yield streams


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """An answer that is no event stream ends with an error above MAX_LINE_BYTES, and so does any
    that is compressed: its size would be known too late. Of events the SDK bounds each."""

    def __init__(self, budget: TrafficBudget) -> None:
        super().__init__(limits=httpx2.Limits(max_connections=128))
        self._budget = budget

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Streamable HTTP ends a session by DELETE.
        if request.method == "DELETE":
            return await self._say_goodbye(request)
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the server compresses what was asked for plain")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # Of an async transport.
        response.stream = _BoundedStream(
            response.stream, self._budget, None if is_stream else MAX_LINE_BYTES
        )
        return response

    async def _say_goodbye(self, request: httpx2.Request) -> httpx2.Response:
        """The end of a session is not waited for long, nor what is said to it."""
        try:
            async with asyncio.timeout(SESSION_END_TIMEOUT_S):
                response = await super().handle_async_request(request)
                await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer to the end of the session") from None
        return httpx2.Response(response.status_code)


def _client(headers: Mapping[str, str], budget: TrafficBudget) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S),
        transport=BoundedTransport(budget),
    )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, budget: TrafficBudget, max_bytes: int | None
    ) -> None:
        self._stream = stream
        self._budget = budget
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            await self._budget.spend_bytes(len(chunk))
            if self._left is not None:
                self._left -= len(chunk)
                if self._left < 0:
                    # The one kind of error that the SDK takes for that of a single request.
                    raise httpx2.StreamError(f"the answer is longer than {MAX_LINE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
