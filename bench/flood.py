"""What one sender of 2000 stanzas a second costs another, who asks the same assistant meanwhile.

The assistant limits as every agent of an agent.toml does. Quiet and flooded rounds alternate.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from bench.conversation import say
from bench.flooder import STANZAS, Flood
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.stage import Stage

PER_S = 2000
ROUND = 20
TWICE = Goal(limit=2.0, is_ratio=True)
PATIENCE_S = 60.0


@dataclass(slots=True)
class Slowest:
    """The slowest answer of each round, without a flood and with one."""

    quiet: Samples = field(default_factory=Samples)
    flooded: Samples = field(default_factory=Samples)
    rates: list[float] = field(default_factory=list)
    """Stanzas that were sent per second of a flood."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    (peer,) = await stage.people(1)
    limited, stranger = [await stage.account(name) for name in ("limited", "flooder")]
    async with (
        stage.model() as url,
        stage.agent("limited", "limited", model_url=url),
        Person(peer) as person,
    ):
        await _ask(person, limited.jid, scale.of(50, quick=5))
        floods = [
            Flood(account=stranger, kind=kind, to=person.answered_by, per_s=PER_S)
            for kind in STANZAS
        ]
        return [_row(flood.kind, await _rounds(person, flood, scale)) for flood in floods]


def _row(kind: str, slowest: Slowest) -> Row:
    return Row(
        name=f"chat → reply, slowest of {ROUND}, another sends {PER_S} a second: {kind}",
        unit="ms",
        ours=slowest.flooded.median,
        baseline=slowest.quiet.median,
        baseline_name="quiet",
        goal=TWICE,
        note=f"slowest of all {max(slowest.flooded.times_ms):.0f},"
        f" quiet {max(slowest.quiet.times_ms):.0f}; {median(slowest.rates):.0f} sent per s",
    )


async def _rounds(person: Person, flood: Flood, scale: Scale) -> Slowest:
    slowest, times = Slowest(), scale.of(ROUND, quick=5)
    for _ in range(scale.of(5, quick=1)):
        slowest.quiet.times_ms.append(await _ask(person, flood.to, times))
        async with _flooding(flood, slowest.rates):
            slowest.flooded.times_ms.append(await _ask(person, flood.to, times))
    check(min(slowest.rates) > PER_S * 0.9, f"the flood was none: {slowest.rates} per second")
    return slowest


async def _ask(person: Person, to: str, times: int) -> float:
    """Return the time of the slowest answer."""
    samples = Samples()
    for text in islice(questions(), times):
        await samples.add(partial(say, person, to, text))
        # Slower than the limit of one sender: 600 a minute.
        await asyncio.sleep(max(0.0, 0.15 - samples.times_ms[-1] / 1000))
    return max(samples.times_ms)


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
