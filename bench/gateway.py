"""Chats over HTTP, one after the other and many at once (load.py).

Gateway, assistant, services and model are separate processes. The baseline is a minimal server:
FastAPI and the openai SDK.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from statistics import median, quantiles
from typing import TYPE_CHECKING

import httpx

from bench.account import Part
from bench.conversation import check_reply, furnish
from bench.load import load
from bench.questions import questions
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from bench.web import Chat, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.stage import Child, Stage

CHAT = Goal(limit=5.0, is_ratio=True)
HEALTH_P99 = Goal(limit=3.0, is_ratio=True)
WAVES = Goal(limit=1.2, is_ratio=True)
MEMORY = Goal(limit=200.0)
ROUND = 10
MODEL_S = 2.0
CHATS, STREAMS = 50, 200
MODEL_CALLS = 64
"""Concurrent calls of a model server by default (`ModelLimits`): more streams come in waves."""
CONNECTIONS = (1, 10, 50)
LOADED = {"/health": 1, "/llm/chat": 3, "/llm/chat/stream": 3}
"""Seconds of load for each path, on each server."""
TIMEOUT_S = 60.0


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    (person,) = await stage.people(1)
    await furnish(await stage.account("assistant"), [person], scale)
    return [*await _instant(stage, scale), *await _slow_chats(stage, scale)]


async def _instant(stage: Stage, scale: Scale) -> list[Row]:
    """With a model that answers at once."""
    async with (
        stage.model() as url,
        stage.agent("assistant", "assistant", model_url=url, has_services=True),
        _served(stage, "gateway", assistant="assistant") as (gateway, _),
        _served(stage, "raw-http", model_url=url) as (bare, _),
    ):
        return [await _chats(gateway, bare, scale), *await _loads(gateway, bare, scale)]


async def _chats(gateway: httpx.AsyncClient, bare: httpx.AsyncClient, scale: Scale) -> Row:
    ours, least = Samples(), Samples()
    answer = await _say(gateway, "What does the answer log write down?")
    check(not answer["degraded"] and bool(answer["rag_sources"]), f"poor answer: {answer}")
    texts = questions()
    for number in range(1 + scale.of(30, quick=1)):
        for client, samples in ((gateway, ours), (bare, least)):
            for text in islice(texts, scale.of(ROUND, quick=2)):
                await (samples if number else Samples()).add(partial(_say, client, text))
    return Row(
        name="/llm/chat, memory and documents on",
        unit="ms",
        ours=ours.median,
        baseline=least.median,
        baseline_name="bare FastAPI",
        goal=CHAT,
        spread=ours.spread,
    )


async def _loads(gateway: httpx.AsyncClient, bare: httpx.AsyncClient, scale: Scale) -> list[Row]:
    """Load both servers in turn with each number of connections. A quick run loads all at once: it
    checks answers, not times."""
    counts = CONNECTIONS[: scale.of(len(CONNECTIONS), quick=2)][scale.of(0, quick=1) :]
    rows = [_load_row(gateway, bare, one, count) for one in LOADED for count in counts]
    if len(counts) == 1:
        return [*await asyncio.gather(*rows)]
    return [await row for row in rows]


async def _load_row(
    gateway: httpx.AsyncClient, bare: httpx.AsyncClient, path: str, connections: int
) -> Row:
    found = []
    for client in (gateway, bare):
        base, seconds = str(client.base_url).rstrip("/"), LOADED[path]
        found.append(await load(base, path, connections=connections, seconds=seconds))
        await _say(client, "Is the last question of the load answered?")
    ours, least = found
    return Row(
        name=f"{path} by {connections} connections",
        unit="ms",
        ours=ours.median,
        baseline=least.median,
        baseline_name="bare FastAPI",
        spread=ours.spread,
        note=f"{ours.per_s:.0f} per s, bare {least.per_s:.0f}; p99 {ours.p99:.1f} and"
        f" {least.p99:.1f} ms",
    )


async def _slow_chats(stage: Stage, scale: Scale) -> list[Row]:
    model_s = scale.of(20, quick=2) / 20 * MODEL_S
    async with (
        stage.model(delay_s=model_s) as url,
        stage.agent("assistant", "assistant", model_url=url, has_services=True),
        _served(stage, "gateway", assistant="assistant") as (client, child),
    ):
        before_mb = await child.resident_mb
        quiet = await _health(client, 0)
        health = await _health(client, scale.of(CHATS, quick=5))
        streams = scale.of(STREAMS, quick=10)
        rows = [
            Row(
                name=f"/health, p99, while {CHATS} chats wait for a model of {MODEL_S:g} s",
                unit="ms",
                ours=quantiles(health, n=100)[-1],
                baseline=quantiles(quiet, n=100)[-1],
                baseline_name="without chats",
                goal=HEALTH_P99,
                note=f"median {median(health):.2f}, n {len(health)}",
            ),
            await _streams(client, streams, model_s),
        ]
        after_mb = await child.resident_mb
        note = f"{before_mb:.0f} before any chat"
        memory = Row(
            name="memory of the gateway after it", unit="MB", ours=after_mb, goal=MEMORY, note=note
        )
        return [*rows, memory]


async def _health(client: httpx.AsyncClient, chats: int) -> list[float]:
    """Times of /health in ms while these chats are in flight; without chats, for MODEL_S."""
    texts = islice(questions(seed=5), chats)
    asking = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.health", str(client.base_url.port)), stdin=PIPE, stdout=PIPE
    )
    assert asking.stdout is not None
    await asking.stdout.readline()
    await asyncio.gather(*(_say(client, text, f"health-{n}") for n, text in enumerate(texts)))
    if not chats:
        await asyncio.sleep(MODEL_S)
    said, _ = await asking.communicate(b"")  # With None, its stdin stays open.
    check(asking.returncode == 0, "/health was not answered as it should be")
    found: list[float] = json.loads(said)
    return found


async def _streams(client: httpx.AsyncClient, count: int, model_s: float) -> Row:
    began = time.perf_counter()
    texts = islice(questions(seed=7), count)
    await asyncio.gather(*(_stream(client, text, n) for n, text in enumerate(texts)))
    return Row(
        name=f"{STREAMS} streamed chats at once, a model of {MODEL_S:g} s",
        unit="s",
        ours=time.perf_counter() - began,
        baseline=-(-count // MODEL_CALLS) * model_s,
        baseline_name=f"waves of {MODEL_CALLS} model calls",
        goal=WAVES,
    )


async def _say(client: httpx.AsyncClient, text: str, session: str = "bench") -> dict[str, object]:
    """Raises WrongAnswer unless the model's words come back."""
    answer = await client.post("/llm/chat", json=Chat.of(text, session).model_dump())
    check(answer.status_code == 200, f"{answer.status_code}: {answer.text}")
    said: dict[str, object] = answer.json()
    check_reply(str(said["response"]), text)
    return said


async def _stream(client: httpx.AsyncClient, text: str, number: int) -> None:
    body = Chat.of(text, f"stream-{number}").model_dump()
    events: list[tuple[str, str]] = []
    async with client.stream("POST", "/llm/chat/stream", json=body) as answer:
        check(answer.status_code == 200, f"{answer.status_code}")
        name = ""
        async for line in answer.aiter_lines():
            field, _, value = line.partition(": ")
            name = value if field == "event" else name
            if field == "data":
                events.append((name, value))
    check(bool(events) and events[-1][0] == "done", f"ended with {events[-1:]}")
    check_reply(str(json.loads(events[-1][1])["response"]), text)


@asynccontextmanager
async def _served(
    stage: Stage, kind: str, *, assistant: str = "", model_url: str = ""
) -> AsyncIterator[tuple[httpx.AsyncClient, Child]]:
    (person,) = await stage.people(1)
    part = Part(
        account=await stage.account(kind),
        model_url=model_url,
        http_port=free_port(),
        assistant=(await stage.account(assistant)).jid if assistant else "",
        person=person.jid,
    )
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=CHATS)
    base = f"http://127.0.0.1:{part.http_port}"
    async with (
        stage.process(kind, part) as child,
        httpx.AsyncClient(base_url=base, limits=limits, timeout=TIMEOUT_S) as client,
    ):
        yield client, child
