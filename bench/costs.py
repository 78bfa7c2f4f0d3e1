"""Processor time of one chat: agents in processes of their own, and all in one as `up` starts them.

A busy machine changes it less than waiting times; plans for more machines are computed from it
(docs/scaling.md). With SPADE_LLM_BENCH_PROFILE=FOLDER and py-spy installed, the stacks of every
process are written there.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.conversation import DOCUMENTS, FIRST, check_services, furnish, say
from bench.processor import cpu_s, profiled
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.upping import command, up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.stage import Stage

SETTLE_S = 3.0
"""Seconds after the last answer in which learning and vectors still count."""
WARM_CHATS = 20
ALL = Goal(limit=20.0)
"""Milliseconds of all processes."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    return [*await _processes(stage, scale), *await _one_process(stage, scale)]


async def _processes(stage: Stage, scale: Scale) -> list[Row]:
    """As `up --processes` starts the agents."""
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
        spent = await _spent(person, full.jid, pids, scale)
    rows = [Row(name=f"processor per chat: {name}", unit="ms", ours=spent[name]) for name in pids]
    return [*rows, Row(name="… all of them", unit="ms", ours=sum(spent.values()), goal=ALL)]


async def _one_process(stage: Stage, scale: Scale) -> list[Row]:
    """`up` itself, with its standard agents; the person is not part of it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-up-")))
        url = await stack.enter_async_context(stage.model())
        variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "bench"}
        one = await stack.enter_async_context(up(folder, variables=variables))
        added = FIRST if scale.is_quick else DOCUMENTS / "design"
        await command(folder, "rag", "add", str(added))
        status = await command(folder, "ask", "/status")
        check("Everything is reachable" in status, f"`up` says {status!r}")
        person = await stack.enter_async_context(Person(one.person()))
        domain = person.xmpp.boundjid.domain
        spent = await _spent(person, f"assistant@{domain}", one.pids, scale)
    return [
        Row(name="processor per chat, `up`: agents", unit="ms", ours=spent["up"]),
        Row(name="processor per chat, `up`: server", unit="ms", ours=spent["prosody"]),
        Row(name="… both of them", unit="ms", ours=sum(spent.values()), goal=ALL),
    ]


async def _spent(
    person: Person, assistant: str, pids: Mapping[str, int], scale: Scale
) -> dict[str, float]:
    """Milliseconds of each process for a chat."""
    texts = questions()
    for text in islice(texts, WARM_CHATS):
        await say(person, assistant, text)
    async with profiled(pids):
        before = cpu_s(pids)
        chats = scale.of(200, quick=20)
        for text in islice(texts, chats):
            await say(person, assistant, text)
        await asyncio.sleep(SETTLE_S)
        after = cpu_s(pids)
    return {name: 1000 * (after[name] - before[name]) / chats for name in pids}
