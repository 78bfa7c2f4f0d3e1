"""What it takes until there is an agent: imports, start, resident memory."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

from bench.conversation import say
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.agent import XmppAgent

if TYPE_CHECKING:
    from bench.stage import Stage

PROGRAM = "import sys, time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    return [_imports(scale), await _agent_start(stage, scale), await _resident(stage)]


def _imports(scale: Scale) -> Row:
    times = scale.of(7, quick=2)
    return Row(
        name="import spade_llm.context",
        unit="s",
        ours=median(_import_s("spade_llm.context") for _ in range(times)),
        baseline=median(_import_s("spade") for _ in range(times)),
        baseline_name="import spade",
        goal=Goal(limit=0.3),
    )


def _import_s(module: str) -> float:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    return float(subprocess.run(program, capture_output=True, check=True, text=True).stdout)


async def _agent_start(stage: Stage, scale: Scale) -> Row:
    ours, bare = Samples(), Samples()
    for _ in range(scale.of(10, quick=3)):
        account = await stage.account("small")
        agent = XmppAgent(account.jid, account.password, options=account.options)
        await ours.add(agent.start)
        await agent.stop()
        client = Person(account)
        await bare.add(client.__aenter__)
        await client.__aexit__()
    return Row(
        name="start of one more agent in a process",
        unit="ms",
        ours=ours.median,
        baseline=bare.median,
        baseline_name="slixmpp",
        spread=ours.spread,
    )


async def _resident(stage: Stage) -> Row:
    """An assistant that has talked with a model, in a process of its own."""
    account, (peer,) = await stage.account("small"), await stage.people(1)
    began = time.perf_counter()
    async with stage.model() as url, stage.agent("assistant", "small", model_url=url) as child:
        started_s = time.perf_counter() - began
        async with Person(peer) as person:
            for number in range(20):
                await say(person, account.jid, f"message {number}")
        resident_mb = await child.resident_mb
    check(resident_mb > 0, "the assistant ended before its time")
    return Row(
        name="assistant after 20 turns",
        unit="MB",
        ours=resident_mb,
        goal=Goal(limit=150),
        note=f"process ready after {started_s:.1f} s, of which its agent {float(child.said):.2f}",
    )
