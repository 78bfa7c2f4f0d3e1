"""What one sender of 2000 messages a second costs another, who asks the same assistant meanwhile.

The assistant limits as every agent of an agent.toml does. Quiet and flooded rounds alternate.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from bench.conversation import say
from bench.flooder import Flood
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.stage import Stage

PER_S = 2000
ROUND = 50
TWICE = Goal(limit=2.0, is_ratio=True)
PATIENCE_S = 30.0


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    (peer,) = await stage.people(1)
    limited, stranger = [await stage.account(name) for name in ("limited", "flooder")]
    async with (
        stage.model() as url,
        stage.agent("limited", "limited", model_url=url),
        Person(peer) as person,
    ):
        flood = Flood(account=stranger, to=limited.jid, per_s=PER_S)
        quiet, flooded, sent_per_s = await _rounds(person, flood, scale)
    return [
        Row(
            name=f"chat → reply, another sends {PER_S} a second",
            unit="ms",
            ours=flooded.median,
            baseline=quiet.median,
            baseline_name="quiet",
            goal=TWICE,
            spread=flooded.spread,
            note=f"{sent_per_s:.0f} sent per s",
        )
    ]


async def _rounds(person: Person, flood: Flood, scale: Scale) -> tuple[Samples, Samples, float]:
    quiet, flooded, rates = Samples(), Samples(), list[float]()
    times = scale.of(ROUND, quick=5)
    await _ask(person, flood.to, Samples(), times)
    for _ in range(scale.of(4, quick=1)):
        await _ask(person, flood.to, quiet, times)
        async with _flooding(flood, rates):
            await _ask(person, flood.to, flooded, times)
    check(min(rates) > PER_S * 0.9, f"the flood was none: {rates} per second")
    return quiet, flooded, sum(rates) / len(rates)


async def _ask(person: Person, to: str, samples: Samples, times: int) -> None:
    for text in islice(questions(), times):
        await samples.add(partial(say, person, to, text))
        # Slower than the limit of one sender: 600 a minute.
        await asyncio.sleep(max(0.0, 0.15 - samples.times_ms[-1] / 1000))


@asynccontextmanager
async def _flooding(flood: Flood, rates: list[float]) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.flooder"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(flood.model_dump_json().encode() + b"\n")
    async with asyncio.timeout(PATIENCE_S):
        check(await process.stdout.readline() == b"ready\n", "the flooder did not log in")
    process.stdin.write(b"go\n")
    try:
        yield
    finally:
        process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            sent, _, seconds = (await process.stdout.readline()).decode().partition(" ")
            await process.wait()
        rates.append(int(sent) / float(seconds))
