"""Processor time of one chat in each process.

A busy machine changes it less than waiting times; plans for more machines are computed from it
(docs/scaling.md). With SPADE_LLM_BENCH_PROFILE=FOLDER and py-spy installed, the stacks of every
process are written there.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from itertools import islice
from typing import TYPE_CHECKING

from bench.conversation import check_services, furnish, say
from bench.processor import cpu_s, profiled
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale

if TYPE_CHECKING:
    from bench.stage import Stage

SETTLE_S = 3.0
"""Seconds after the last answer in which learning and vectors still count."""
ALL = Goal(limit=20.0)
"""Milliseconds of all processes."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    (peer,) = await stage.people(1)
    full = await stage.account("assistant")
    await furnish(full, [peer], scale)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(stage.model())
        agent = stage.agent("assistant", "assistant", model_url=url, has_services=True)
        assistant = await stack.enter_async_context(agent)
        person = await stack.enter_async_context(Person(peer))
        await check_services(stage, full.jid)
        pids = {**stage.service_pids, "assistant": assistant.pid, "person": os.getpid()}
        texts = questions()
        for text in islice(texts, 20):
            await say(person, full.jid, text)
        async with profiled(pids):
            before = cpu_s(pids)
            chats = scale.of(200, quick=20)
            for text in islice(texts, chats):
                await say(person, full.jid, text)
            await asyncio.sleep(SETTLE_S)
            after = cpu_s(pids)
    spent = {name: 1000 * (after[name] - before[name]) / chats for name in pids}
    rows = [Row(name=f"processor per chat: {name}", unit="ms", ours=spent[name]) for name in pids]
    return [*rows, Row(name="… all of them", unit="ms", ours=sum(spent.values()), goal=ALL)]
