"""Replicas of an assistant: processor time of a chat at 1, 2 and 4, and what is lost, doubled, out
of order or answered with an error while replicas, the database and nodes of the server are killed.

People write two messages at a time, one right behind the other, at a fixed pace, so that the load
is the same for each number of replicas. On Prosody, and, if it is installed, on ejabberd and on two
of its nodes. `--server NAME` chooses one of them; `--faults N` measures nothing but so many faults,
`--only node` those of one kind; `--other PATH` a rolling upgrade from the version in another
checkout, and back. The timelines of messages that were answered late, out of order, again or not
at all are printed.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.account import Part
from bench.processor import cpu_of
from bench.replica_faults import PEOPLE, ROUND_S, Group, faults, talking, upgrade
from bench.report import print_row
from bench.row import Goal, Row, check
from bench.servers import (
    SESSION_TIMEOUT_S,
    ejabberd,
    ejabberd_cluster,
    has_ejabberd,
    prosody,
    start_postgres,
)
from bench.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.replica_faults import Suffered
    from bench.replica_people import Person
    from bench.row import Scale
    from bench.servers import Launch

MODEL_S = 0.2
SERVERS: dict[str, Launch] = {
    "Prosody": prosody,
    "ejabberd": ejabberd,
    "ejabberd-cluster": ejabberd_cluster,
}
WATCH_S = SESSION_TIMEOUT_S + 60
"""Time after the last fault, in which the server may still return messages to killed sessions."""
BOUND_S = 900
"""Maximum time on one server, in addition to that of faults."""
NONE = Goal(limit=0)
SLOWEST = Goal(limit=5.0)
SHARES = ((1, PEOPLE // 2), (1, PEOPLE // 4))
"""One replica with the people that each of two, and each of four, answers."""
COSTS = {2: Goal(limit=1.1, is_ratio=True), 4: Goal(limit=1.2, is_ratio=True)}


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    chosen = os.environ.get("SPADE_LLM_BENCH_SERVER", "")
    check(chosen in ("", *SERVERS), f"--server: {chosen!r} is none of {', '.join(SERVERS)}")
    names = [chosen] if chosen else [*SERVERS] if has_ejabberd() else ["Prosody"]
    rounds = int(os.environ.get("SPADE_LLM_BENCH_FAULTS", scale.of(20, quick=2)))
    bound_s = BOUND_S + rounds * 3 * ROUND_S
    rows = []
    for name in names:
        print(f"replicas on {name}: at most {bound_s / 60:.0f} minutes", file=sys.stderr)
        async with asyncio.timeout(bound_s):
            rows += await _on_server(name, rounds, scale)
    return rows


async def _on_server(name: str, rounds: int, scale: Scale) -> list[Row]:
    other = os.environ.get("SPADE_LLM_BENCH_OTHER", "")
    has_costs = "SPADE_LLM_BENCH_FAULTS" not in os.environ and name != "ejabberd-cluster"
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(SERVERS[name]))
        postgres = start_postgres(stack)
        check(postgres is not None, "no PostgreSQL is installed")
        assert postgres is not None
        model = await stack.enter_async_context(stage.audience_model(delay_s=MODEL_S))
        part = Part(
            account=await stage.account("replicated"),
            model_url=model.said,
            database_url=postgres.url(),
            is_replica=True,
        )
        title = f"replicas on {name}"
        if other:
            came = await upgrade(title, stage, part, Path(other))
            return _said(_count_rows(came, f"to this version and back, {came.sent} messages"))
        rows = []
        if has_costs:
            costs = {
                (count, people): await _cost(
                    stage,
                    part.model_copy(update={"is_replica": count > 0}),
                    count,
                    scale,
                    people=people,
                )
                for count, people in (*((count, PEOPLE) for count in (0, 1, 2, 4)), *SHARES)
            }
            rows += _said(_cost_rows(title, costs))
        watch_s = scale.of(WATCH_S, quick=1)
        came = await faults(
            title,
            stage,
            part,
            postgres,
            rounds=rounds,
            watch_s=watch_s,
            only=os.environ.get("SPADE_LLM_BENCH_ONLY", ""),
        )
        note = (
            f"{rounds} faults, {came.sent} messages, {came.sent_unserved} while no replica lived,"
            f" {len(came.lost_by_server)} lost by the server"
        )
        return rows + _said([*_count_rows(came, note), _slowest_row(came)])


def _said(rows: Iterable[Row]) -> list[Row]:
    """Print rows as soon as they are measured."""
    for row in (found := [*rows]):
        print_row(row, file=sys.stderr)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    agent_ms: float
    """Processor time of all replicas for each chat, without their idle time."""
    idle_ms_per_s: float
    """Of one replica without chats."""
    server_ms: float
    answer_ms: float
    """Median."""


async def _cost(stage: Stage, part: Part, count: int, scale: Scale, *, people: int) -> Cost:
    seconds = scale.of(30, quick=4)
    group = Group(stage, part)
    for number in range(max(count, 1)):
        await group.start(number)
    pids = [child.pid for child in group.running.values()]
    server = [*stage.service_pids.values()][:1]
    try:
        await asyncio.sleep(1.0)
        idle = sum(map(cpu_of, pids))
        await asyncio.sleep(seconds / 3)
        idle_per_s = (sum(map(cpu_of, pids)) - idle) / (seconds / 3)
        async with talking(stage, part.account.jid, count=people) as talkers:
            await asyncio.sleep(2.0)  # Each conversation begins, and connections are opened.
            began, chats = time.monotonic(), _answered(talkers)
            before, server_before = sum(map(cpu_of, pids)), sum(map(cpu_of, server))
            await asyncio.sleep(seconds)
            spent, served = sum(map(cpu_of, pids)) - before, sum(map(cpu_of, server))
            elapsed, chats = time.monotonic() - began, _answered(talkers) - chats
        times = [took for one in talkers for took in one.took_s.values()]
    finally:
        await group.close()
    return Cost(
        agent_ms=1000 * (spent - idle_per_s * elapsed) / chats,
        idle_ms_per_s=1000 * idle_per_s / len(pids),
        server_ms=1000 * (served - server_before) / chats,
        answer_ms=1000 * statistics.median(times),
    )


def _answered(people: list[Person]) -> int:
    return sum(len(one.took_s) for one in people)


def _cost_rows(title: str, costs: dict[tuple[int, int], Cost]) -> list[Row]:
    """`costs`: by number of replicas and of people."""
    one = costs[1, PEOPLE].agent_ms
    rows = [
        Row(
            name=f"{title}: processor of a chat, {_counted(count)}, {people} people",
            unit="ms",
            ours=cost.agent_ms,
            baseline=one if count else None,
            baseline_name=f"one replica, {PEOPLE} people" if count else "",
            goal=COSTS.get(count),
            note=f"idle {cost.idle_ms_per_s:.1f} ms/s each; server {cost.server_ms:.2f} ms a chat;"
            f" answer {cost.answer_ms:.0f} ms",
        )
        for (count, people), cost in costs.items()
    ]
    # Compared with a process that answers as many chats: one with less to do costs more a chat.
    foreign_ms = [
        (costs[count, PEOPLE].agent_ms - costs[1, people].agent_ms) / (count - 1)
        for count, people in ((2, PEOPLE // 2), (4, PEOPLE // 4))
    ]
    return [
        *rows,
        Row(
            name=f"{title}: a message that another replica answers",
            unit="ms",
            ours=foreign_ms[1],
            goal=Goal(limit=0.2),
            note="four replicas, compared with one that has a quarter of the people; two, with one"
            f" that has half of them: {foreign_ms[0]:.2f} ms; with database and confirmation",
        ),
    ]


def _counted(count: int) -> str:
    if count == 0:
        return "one process that is no replica"
    return f"{count} replicas" if count > 1 else "one replica"


def _count_rows(came: Suffered, note: str) -> list[Row]:
    return [
        Row(name=f"{came.name}: {name}", unit="", ours=count, goal=NONE, note=note)
        for name, count in came.counts().items()
    ]


def _slowest_row(came: Suffered) -> Row:
    times = came.times()
    p95 = times[int(len(times) * 0.95)]
    return Row(
        name=f"{came.name}: slowest answer",
        unit="s",
        ours=times[-1],
        goal=SLOWEST,
        note=f"median {statistics.median(times):.2f} s, p95 {p95:.2f}",
    )
