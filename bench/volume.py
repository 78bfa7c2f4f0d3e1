"""Many messages from twenty people: as many answers, in order for each, and no growing process."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from uuid import uuid4

from bench.conversation import check_reply, check_services, furnish
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.stage import MAX_PEERS

if TYPE_CHECKING:
    from bench.stage import Child, Stage

WINDOW = 8
"""Messages of one person that wait for their answer."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    peers = await stage.people(MAX_PEERS)
    full = await stage.account("assistant")
    await furnish(full, peers, scale)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(stage.model())
        agent = stage.agent("assistant", "assistant", model_url=url, has_services=True)
        assistant = await stack.enter_async_context(agent)
        await check_services(stage, full.jid)
        people = [await stack.enter_async_context(Person(peer)) for peer in peers]
        return await _halves(people, full.jid, assistant, scale.of(10_000, quick=400))


async def _halves(people: list[Person], jid: str, assistant: Child, messages: int) -> list[Row]:
    each = messages // len(people) // 2
    began = time.perf_counter()
    await _all_say(people, jid, range(each))
    half_mb = await assistant.resident_mb
    await _all_say(people, jid, range(each, 2 * each))
    rate = messages / (time.perf_counter() - began)
    end_mb = await assistant.resident_mb
    return [
        Row(name=f"{messages} messages: each", unit="ms", ours=1000 / rate, note=f"{rate:.0f}/s"),
        Row(
            name="… assistant at the end, against half-way",
            unit="MB",
            ours=end_mb,
            baseline=half_mb,
            baseline_name="half-way",
            goal=Goal(limit=1.1, is_ratio=True),
        ),
    ]


async def _all_say(people: list[Person], jid: str, numbers: range) -> None:
    await asyncio.gather(*(_say_all(person, jid, numbers) for person in people))


async def _say_all(person: Person, jid: str, numbers: range) -> None:
    """Raises WrongAnswer when an answer is missing, doubled, or out of its order."""
    room = asyncio.Semaphore(WINDOW)

    async def speak() -> None:
        for number in numbers:
            await room.acquire()
            person.send(jid, f"message {number}", id=uuid4().hex)

    async def listen() -> None:
        for number in numbers:
            check_reply(await person.hear(), f"message {number}")
            room.release()

    await asyncio.gather(speak(), listen())
    check(person.has_heard_all, "an answer came twice")
