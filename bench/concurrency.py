"""Twenty people, five messages each, a model that thinks for 200 ms: nobody waits for another."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import islice
from typing import TYPE_CHECKING

from bench.conversation import check_services, furnish, say
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale
from bench.stage import MAX_PEERS

if TYPE_CHECKING:
    from bench.stage import Stage

MESSAGES = 5
MODEL_S = 0.2


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    peers = await stage.people(MAX_PEERS)
    slow = await stage.account("slow")
    await furnish(slow, peers)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(stage.model(delay_s=MODEL_S))
        agent = stage.agent("assistant", "slow", model_url=url, has_services=True)
        await stack.enter_async_context(agent)
        await check_services(stage, slow.jid)
        people = [await stack.enter_async_context(Person(peer)) for peer in peers]
        runs_s = [await _run_s(people, slow.jid, seed) for seed in range(scale.of(5, quick=1))]
    return [_row(runs_s)]


async def _run_s(people: list[Person], assistant: str, seed: int) -> float:
    texts = questions(seed)
    said = [list(islice(texts, MESSAGES)) for _ in people]
    began = time.perf_counter()
    await asyncio.gather(*map(_talk, people, [assistant] * len(people), said))
    return time.perf_counter() - began


async def _talk(person: Person, assistant: str, texts: list[str]) -> None:
    for text in texts:
        await say(person, assistant, text)


def _row(runs_s: list[float]) -> Row:
    return Row(
        name=f"{MAX_PEERS} people × {MESSAGES} messages, model 200 ms",
        unit="s",
        ours=sorted(runs_s)[len(runs_s) // 2],
        baseline=MESSAGES * MODEL_S,
        baseline_name="model alone",
        goal=Goal(limit=1.6),
        note=f"first run (nothing loaded yet) {runs_s[0]:.2f}, best {min(runs_s):.2f}",
    )
