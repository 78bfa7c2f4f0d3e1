"""The answer log of a turn (note, finish, erase) in a file and in PostgreSQL: wall and client's
processor time."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.row import Goal, Row, check
from bench.servers import start_postgres
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.messaging import CHAT_TEXT, AclMessage, Encoding, Performative, PersistentAnswerLog

if TYPE_CHECKING:
    from bench.row import Scale
    from bench.stage import Stage
    from spade_llm.core.database import DatabasePlace

IN_FLIGHT = 16
MAX_CPU_MS = 0.7
MAX_WALL_MS = 3.0


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    turns = scale.of(4000, quick=200)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        in_file = await _cost_ms(folder / "answers.db", turns)
        process = start_postgres(stack)
        if process is None:
            return _rows("a file", in_file)
        server = PostgresServer(DatabaseUrl(process.url()), agent="bench@localhost")
        served = await _cost_ms(await stack.enter_async_context(server), turns)
    return [*_rows("a file", in_file), *_rows("PostgreSQL", served, is_served=True)]


async def _cost_ms(place: DatabasePlace, turns: int) -> tuple[float, float]:
    """Wall and processor time of this process for a turn, in ms, with IN_FLIGHT at once."""
    async with PersistentAnswerLog(place) as log:
        await asyncio.gather(*(_turn(log, f"warm-{number}") for number in range(IN_FLIGHT)))
        numbers = iter(range(turns))

        async def worker() -> None:
            for number in numbers:
                await _turn(log, str(number))

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        check(not await log.unsent() and not await log.unfinished(), "a turn is not erased")
    return wall_s * 1000 / turns, cpu_s * 1000 / turns


async def _turn(log: PersistentAnswerLog, id: str) -> None:
    asked = AclMessage(
        performative=Performative.REQUEST,
        sender=f"ada{id}@localhost/phone",
        receiver="assistant@localhost",
        content="What did I say about the tea? " * 4,
        ontology=CHAT_TEXT,
        encoding=Encoding.PLAIN,
        reply_with=id,
    )
    answer = asked.reply(Performative.INFORM, "You said that you like it green. " * 12)
    await log.note(asked)
    await log.finish(asked, answer)
    await log.erase(answer)


def _rows(where: str, cost_ms: tuple[float, float], *, is_served: bool = False) -> list[Row]:
    wall_ms, cpu_ms = cost_ms
    return [
        Row(
            name=f"answer log of a turn in {where}, {IN_FLIGHT} in flight: processor time here",
            unit="ms",
            ours=cpu_ms,
            goal=Goal(limit=MAX_CPU_MS) if is_served else None,
            note="note, finish, erase",
        ),
        Row(
            name=f"answer log of a turn in {where}, {IN_FLIGHT} in flight: wall",
            unit="ms",
            ours=wall_ms,
            goal=Goal(limit=MAX_WALL_MS) if is_served else None,
            note="all turns divided by their number",
        ),
    ]
