"""What it takes until there is an agent, or all of them: imports, start, resident memory; and how
large what is installed is.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.conversation import say
from bench.installed import OURS, closure, installed_mb, wheel_kb
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from bench.upping import ask, person_environment, up
from spade_llm.agents import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.stage import Stage

PROGRAM = "import sys, time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
IMPORTS: dict[str, Goal | None] = {
    "spade_llm.context": Goal(limit=0.3),
    "spade_llm.agents": None,
    **{f"spade_llm.agents.{kind}": None for kind in ("llm", "memory", "rag", "tools", "gateway")},
}
UP = Goal(limit=4.0)
QUESTION, ANSWER = "what is 12 * 12?", "144"
"""Answered by rules: no model is asked."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    return [
        *_imports(scale),
        *await _ups(scale),
        await _agent_start(stage, scale),
        await _resident(stage),
        *_size(scale),
    ]


def _imports(scale: Scale) -> list[Row]:
    """A quick run knows what the first costs."""
    names, times = [*IMPORTS][: scale.of(len(IMPORTS), quick=1)], scale.of(3, quick=1)
    return [_import_row(one, times) for one in names]


def _import_row(module: str, times: int) -> Row:
    """In turns, after one of each that compiles what is not compiled yet."""
    ours, spade = Samples(), Samples()
    for number in range(times):
        for name, samples in ((module, ours), ("spade", spade)):
            taken_ms = _import_ms(name)
            if number:
                samples.times_ms.append(taken_ms)
    return Row(
        name=f"import {module}",
        unit="s",
        ours=ours.median / 1000,
        baseline=spade.median / 1000,
        baseline_name="import spade",
        goal=IMPORTS[module],
    )


def _import_ms(module: str) -> float:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    done = subprocess.run(
        program, capture_output=True, check=True, text=True, env=person_environment()
    )
    return 1000 * float(done.stdout)


async def _ups(scale: Scale) -> list[Row]:
    """All agents in one process, then in one each; the first start makes what later ones find."""
    rows = list[Row]()
    with TemporaryDirectory(prefix="bench-up-") as folder:
        for arguments in ((), ("--processes",))[: scale.of(2, quick=1)]:
            rows += await _up_rows(Path(folder), scale.of(3, quick=0), arguments)
    return rows


async def _up_rows(folder: Path, times: int, arguments: Sequence[str]) -> list[Row]:
    said, ready_s = " ".join(("spade-llm up", *arguments)), list[float]()
    for number in range(1 + times):
        async with up(folder, *arguments) as one:
            ready_s.append(one.ready_s)
            if number == times:
                check(ANSWER in await ask(folder, QUESTION), f"`{said}` does not answer")
                held = one.resident_mb()
    warm = ready_s[1:] or ready_s
    note = f"the first time {ready_s[0]:.1f} s; since then {min(warm):.1f} to {max(warm):.1f}"
    ready = Row(name=f"`{said}` to ready", unit="s", ours=median(warm), goal=UP, note=note)
    return [ready, *(_resident_row(said, name, held[name]) for name in sorted(held))]


def _resident_row(said: str, name: str, resident_mb: float) -> Row:
    note = "after the first chat"
    return Row(name=f"`{said}`: process of {name}", unit="MB", ours=resident_mb, note=note)


def _size(scale: Scale) -> list[Row]:
    rows = [
        _install_row("distributions of a clean install", closure(OURS)),
        _install_row("distributions with every extra", closure(OURS, frozenset({"all"}))),
    ]
    if scale.of(1, quick=0):
        rows.append(Row(name="our wheel", unit="KB", ours=wheel_kb()))
    return rows


def _install_row(name: str, installed: dict[str, frozenset[str]]) -> Row:
    note = f"{installed_mb(installed):.0f} MB of files"
    return Row(name=name, unit="", ours=len(installed), note=note)


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
