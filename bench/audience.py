"""Throughput with a thousand people, ten messages each, and a model that takes 200 ms and 256 calls
at once.

Each person has a connection (bench/lean_client.py), waits for the answer, and sends the next
message. Each answer is checked against its question. The model alone would allow more than two
cores can serve, so the goal is a ratio to the bare bot; rows by process tell where the processor
time goes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from bench.account import Audience
from bench.audience_people import Heard, Round
from bench.conversation import furnish
from bench.processor import cpu_s, profiled
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from bench.stage import Child, Stage

MODEL_S = 0.2
CALLS_AT_ONCE = 256
IDEAL_PER_S = CALLS_AT_ONCE / MODEL_S
PEOPLE = 1000
PATIENCE_S = 200.0
RATE = Goal(limit=1.2, is_ratio=True, is_least=True)
FLAT = Goal(limit=1.1, is_ratio=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one round of one bot came to."""

    heard: Heard
    cpu_ms: dict[str, float]
    """Of each process, for each chat."""
    most_at_once: int
    before_mb: float
    half_mb: float
    end_mb: float

    @property
    def chats(self) -> int:
        return len(self.heard.times_ms)

    @property
    def per_s(self) -> float:
        return self.chats / self.heard.seconds

    @property
    def cores(self) -> float:
        """Kept busy, in the mean."""
        return sum(self.cpu_ms.values()) / 1000 * self.per_s


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    """Without services, between two rounds of the bare bot."""
    bare = scale.of(3, quick=1)
    async with _hall(stage, scale) as hall:
        before = await hall.round("raw-bot", "raw-bot", bare)
        alone = await hall.round("assistant", "audience", scale.of(10, quick=3))
        after = await hall.round("raw-bot", "raw-bot", bare)
    return [
        *_rows(alone, (before, after), hall.count),
        *_costs("audience", [alone]),
        *_costs("audience, bare bot", [before, after]),
    ]


async def measure_served(stage: Stage, scale: Scale) -> list[Row]:
    """With recall and retrieval."""
    await stage.services()
    await furnish(await stage.account("audience-full"), await stage.people(2), scale)
    async with _hall(stage, scale) as hall:
        full = await hall.round("assistant", "audience-full", 1, has_services=True)
    return [*_served(full), *_costs("audience, recall and retrieval on", [full])]


@asynccontextmanager
async def _hall(stage: Stage, scale: Scale) -> AsyncIterator[Hall]:
    accounts = await stage.crowd(scale.of(PEOPLE, quick=40))
    passwords = {one.jid: one.password for one in accounts}
    audience = Audience(port=accounts[0].port, ca_path=accounts[0].ca_path, passwords=passwords)
    async with stage.audience_model(delay_s=MODEL_S) as model, _people(audience) as people:
        yield Hall(stage, model, people, len(audience.passwords))


class People:
    """The process that they are in."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def say(self, wanted: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(wanted.encode() + b"\n")
        await self._process.stdin.drain()

    async def hear(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def _people(audience: Audience) -> AsyncIterator[People]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.audience_people"), stdin=PIPE, stdout=PIPE, limit=2**24
    )
    people = People(process)
    try:
        await people.say(audience.model_dump_json())
        check((await people.hear()).startswith("ready"), "the audience did not log in")
        yield people
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


class Hall:
    """Where they talk: one bot after the other, the same model and people for all."""

    def __init__(self, stage: Stage, model: Child, people: People, count: int) -> None:
        self._stage = stage
        self._model = model
        self._people = people
        self.count = count

    async def round(
        self, kind: str, name: str, messages: int, *, has_services: bool = False
    ) -> Outcome:
        agent = self._stage.agent(
            kind,
            name,
            model_url=self._model.said,
            most_calls=CALLS_AT_ONCE,
            has_services=has_services,
        )
        jid = (await self._stage.account(name)).jid
        async with agent as child:
            pids = {**self._stage.service_pids, "model": self._model.pid, "bot": child.pid}
            pids = pids if has_services else _without_services(pids)
            pids["people"] = self._people.pid
            async with profiled({name: child.pid}):
                outcome = await self._talk(child, Round(to=jid, messages=messages), pids)
        self._check(outcome, messages)
        return outcome

    async def _talk(self, bot: Child, wanted: Round, pids: Mapping[str, int]) -> Outcome:
        await self._asked_model()
        before_mb, before = await bot.resident_mb, cpu_s(pids)
        await self._people.say(wanted.model_dump_json())
        half = await self._people.hear()
        half_mb = await bot.resident_mb
        heard = Heard.model_validate_json(await self._people.hear() if half == "half" else half)
        after, end_mb = cpu_s(pids), await bot.resident_mb
        chats = len(heard.times_ms) or 1
        return Outcome(
            heard=heard,
            cpu_ms={name: 1000 * (after[name] - before[name]) / chats for name in pids},
            most_at_once=await self._asked_model(),
            before_mb=before_mb,
            half_mb=half_mb,
            end_mb=end_mb,
        )

    async def _asked_model(self) -> int:
        """The most calls at once since this was asked last."""
        answer = await asyncio.to_thread(urllib.request.urlopen, self._model.said)
        most: int = json.load(answer)["most_at_once"]
        return most

    def _check(self, outcome: Outcome, messages: int) -> None:
        wanted, most = self.count * messages, outcome.most_at_once
        check(not outcome.heard.complaint, outcome.heard.complaint)
        check(outcome.chats == wanted, f"{outcome.chats} answers to {wanted} messages")
        check(most <= CALLS_AT_ONCE, f"{most} calls of the model at once")


def _without_services(pids: Mapping[str, int]) -> dict[str, int]:
    return {name: pid for name, pid in pids.items() if name in ("prosody", "model", "bot")}


def _rows(alone: Outcome, bots: Sequence[Outcome], people: int) -> list[Row]:
    grown_kb = 1024 * (alone.end_mb - alone.before_mb) / people
    return [
        _rate("audience, model 200 ms, 256 calls at once: chats", alone),
        Row(
            name="… against the bare bot",
            unit="per s",
            ours=alone.per_s,
            baseline=fmean(bot.per_s for bot in bots),
            baseline_name="bare bot",
            goal=RATE,
            note="; ".join(map(_noted, bots)),
        ),
        _answered("… an answer", alone),
        Row(
            name="… assistant at the end, against half-way",
            unit="MB",
            ours=alone.end_mb,
            baseline=alone.half_mb,
            baseline_name="half-way",
            goal=FLAT,
            note=f"{grown_kb:.0f} KB for each open conversation",
        ),
    ]


def _served(full: Outcome) -> list[Row]:
    return [
        _rate("audience, recall and retrieval on: chats", full),
        _answered("… an answer, recall and retrieval on", full),
    ]


def _rate(name: str, outcome: Outcome) -> Row:
    return Row(
        name=name,
        unit="per s",
        ours=outcome.per_s,
        baseline=IDEAL_PER_S,
        baseline_name="model alone",
        note=_noted(outcome),
    )


def _answered(name: str, outcome: Outcome) -> Row:
    samples = Samples(outcome.heard.times_ms)
    slowest = f"slowest {max(samples.times_ms):.0f}"
    return Row(name=name, unit="ms", ours=samples.median, spread=samples.spread, note=slowest)


def _noted(outcome: Outcome) -> str:
    return (
        f"{outcome.chats} chats, {outcome.heard.without} without memory or documents, "
        f"most model calls at once {outcome.most_at_once}, "
        f"{outcome.cores:.2f} of {os.cpu_count()} cores busy"
    )


def _costs(of: str, outcomes: Sequence[Outcome]) -> list[Row]:
    return [
        Row(
            name=f"processor per chat, {of}: {name}",
            unit="ms",
            ours=fmean(one.cpu_ms[name] for one in outcomes),
        )
        for name in outcomes[0].cpu_ms
    ]
