"""Streaming responses: keep-alives of a silent stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.gateway.streaming import EventStream, JsonLines, StreamedAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, MutableMapping
    from typing import Any


@pytest.mark.parametrize(
    ("kind", "keepalive"), [(EventStream, b": still at work\n\n"), (JsonLines, b"\n")]
)
async def test_a_silent_stream_sends_keep_alives(
    kind: type[StreamedAnswer], keepalive: bytes
) -> None:
    heard = asyncio.Event()
    sent: list[bytes] = []

    async def parts() -> AsyncGenerator[str]:
        await heard.wait()
        yield "end"

    async def receive() -> MutableMapping[str, Any]:
        return await asyncio.Future()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if keepalive in sent:
            heard.set()

    async with asyncio.timeout(5):
        await kind(parts(), keepalive_s=0.01)({"type": "http"}, receive, send)

    assert keepalive in sent
    assert b"end" in sent
