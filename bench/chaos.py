"""Twenty peers at work while agents, server and lines break: what became of every message.

Every message has one answer (the same id again counts as the same) or an explicit error; every
acknowledged memory is there, once, and was shown to nobody else. Anything else ends the run with 1.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.chaos_faults import Faults
from bench.chaos_ledger import Ledger, complaints_about, stored_in
from bench.chaos_model import ChaosModel
from bench.chaos_person import Person
from bench.chaos_program import Program
from bench.row import Row, Scale, check
from spade_llm.agents import AgentOptions, ChatAgent, ConnectionSettings
from tests.processes.deployment import PASSWORD, running_deployment
from tests.processes.proxy import line_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.stage import Stage
    from tests.processes.deployment import Deployment
    from tests.processes.proxy import Line

PEERS_OF_A_KIND = 10
DOMAIN = "localhost"
SHOWN = 20
"""Complaints in the message of a run that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos:
    """How long, and how much of it."""

    seconds: float = 600.0
    every_s: tuple[float, float] = (10.0, 20.0)
    """Between two faults of the agents; the same again for server and lines."""
    peers: int = PEERS_OF_A_KIND
    """Persons, and as many programs."""


QUICK = Chaos(seconds=12.0, every_s=(1.5, 3.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    ledger: Ledger
    faults: dict[str, int]
    complaints: list[str]


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        outcome = await wreck(Path(folder), QUICK if scale.is_quick else Chaos())
    shown = "\n".join(outcome.complaints[:SHOWN])
    check(not outcome.complaints, f"{len(outcome.complaints)} promises broken:\n{shown}")
    return rows_of(outcome)


async def wreck(folder: Path, chaos: Chaos) -> Outcome:
    """A deployment in this folder, broken for so long, and what is to be said of it then."""
    ledger, model = Ledger(), ChaosModel()
    async with running_deployment(folder, model=model) as deployment:
        faults = await _suffer(deployment, ledger, chaos)
        data = deployment.directory / "data"
    (database,) = data.rglob("memory.db")
    mixed = [f"one request held words of {', '.join(sorted(names))}" for names in model.mixed]
    complaints = [
        *ledger.complaints(),
        *complaints_about(stored_in(database), ledger.kept),
        *mixed,
    ]
    return Outcome(ledger=ledger, faults=dict(faults.times), complaints=complaints)


async def _suffer(deployment: Deployment, ledger: Ledger, chaos: Chaos) -> Faults:
    endpoint = deployment.endpoint
    async with line_to(endpoint.host, endpoint.port) as line, AsyncExitStack() as stack:
        faults = Faults(deployment, (deployment.line, line), every_s=chaos.every_s)
        people = [
            await stack.enter_async_context(_person(deployment, line, f"person{n}", ledger))
            for n in range(chaos.peers)
        ]
        programs = [
            await stack.enter_async_context(_program(deployment, line, f"program{n}", ledger))
            for n in range(chaos.peers)
        ]
        over, quiet = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for person in people:
                group.create_task(person.talk(quiet))
            for program in programs:
                group.create_task(program.work(quiet))
            async with asyncio.TaskGroup() as breaking:
                breaking.create_task(faults.of_agents(over))
                breaking.create_task(faults.of_the_network(over))
                await asyncio.sleep(chaos.seconds)
                over.set()
            quiet.set()
        for program in programs:
            await program.has_all_documents()
    return faults


@asynccontextmanager
async def _person(
    deployment: Deployment, line: Line, name: str, ledger: Ledger
) -> AsyncIterator[Person]:
    jid = await deployment.account(name)
    where = _through(deployment, line)
    person = Person(jid, PASSWORD, where, peer=f"assistant@{DOMAIN}", ledger=ledger)
    await person.open()
    try:
        yield person
    finally:
        await person.close()


@asynccontextmanager
async def _program(
    deployment: Deployment, line: Line, name: str, ledger: Ledger
) -> AsyncIterator[Program]:
    jid = await deployment.account(name)
    options = AgentOptions(connection=_through(deployment, line))
    agent = ChatAgent(jid, PASSWORD, options=options)
    await agent.start()
    try:
        yield Program(agent, domain=DOMAIN, ledger=ledger)
    finally:
        await agent.stop()


def _through(deployment: Deployment, line: Line) -> ConnectionSettings:
    return ConnectionSettings(host="127.0.0.1", port=line.port, ca_path=deployment.endpoint.ca_path)


def rows_of(outcome: Outcome) -> list[Row]:
    said = outcome.ledger.said
    errors = [one for one in said if one.errors]
    faults = ", ".join(f"{name} {times} x" for name, times in sorted(outcome.faults.items()))
    slowest = max(one.took_s for one in said)
    return [
        Row(name="chaos: messages", unit="", ours=len(said), note=faults),
        Row(name="chaos: explicit errors", unit="", ours=len(errors)),
        Row(name="chaos: memories kept", unit="", ours=len(outcome.ledger.kept)),
        Row(name="chaos: slowest answer", unit="s", ours=slowest),
        Row(name="chaos: promises broken", unit="", ours=len(outcome.complaints)),
    ]
