"""Twenty people, five messages each, a model that thinks for 200 ms: nobody waits for another.

Once with chat clients, and once with programs that read the answer while it is made, under
guardrails and an adaptive context.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING

from bench.conversation import check_reply, check_services, furnish, say
from bench.guards import guarded
from bench.process import running
from bench.questions import questions
from bench.raw import Person
from bench.row import Goal, Row, Scale, check
from bench.stage import MAX_PEERS
from spade_llm.agents import ChatAgent
from spade_llm.assistant.chat.messages import AnswerDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.account import Account
    from bench.stage import Stage

MESSAGES = 5
MODEL_S = 0.2
Say = Callable[[str], Awaitable[None]]


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    peers = await stage.people(MAX_PEERS)
    for name in ("slow", "guarded"):
        await furnish(await stage.account(name), peers, scale)
    runs = scale.of(5, quick=1)
    async with stage.model(delay_s=MODEL_S) as url:
        return [
            await _with_people(stage, url, peers, runs),
            await _with_programs(stage, url, peers, runs),
        ]


async def _with_people(stage: Stage, url: str, peers: list[Account], runs: int) -> Row:
    async with AsyncExitStack() as stack:
        agent = stage.agent("assistant", "slow", model_url=url, has_services=True)
        await stack.enter_async_context(agent)
        jid = (await stage.account("slow")).jid
        await check_services(stage, jid)
        people = [await stack.enter_async_context(Person(peer)) for peer in peers]
        saying = [_saying(person, jid) for person in people]
        return _row("", [await _run_s(saying, seed) for seed in range(runs)])


async def _with_programs(stage: Stage, url: str, peers: list[Account], runs: int) -> Row:
    firsts_s: list[float] = []
    async with AsyncExitStack() as stack:
        agent = stage.agent("guarded", "guarded", model_url=url, has_services=True)
        await stack.enter_async_context(agent)
        jid = (await stage.account("guarded")).jid
        await check_services(stage, jid)
        programs = [await stack.enter_async_context(_program(peer)) for peer in peers]
        saying = [_streaming(program, jid, firsts_s) for program in programs]
        runs_s = [await _run_s(saying, seed) for seed in range(runs)]
    first_ms = 1000 * sorted(firsts_s)[len(firsts_s) // 2]
    return _row(
        ", in parts, guardrails, adaptive context",
        runs_s,
        note=f"; first part after {first_ms:.0f} ms (median)",
    )


@asynccontextmanager
async def _program(peer: Account) -> AsyncIterator[ChatAgent]:
    agent = ChatAgent(peer.jid, peer.password, options=peer.options)
    async with running(agent):
        yield agent


def _saying(person: Person, assistant: str) -> Say:
    async def one(text: str) -> None:
        await say(person, assistant, text)

    return one


def _streaming(program: ChatAgent, assistant: str, firsts_s: list[float]) -> Say:
    """Raises WrongAnswer unless the parts are the beginning of the guarded answer."""

    async def one(text: str) -> None:
        began, written = time.perf_counter(), ""
        async for part in program.stream(assistant, text):
            if isinstance(part, AnswerDelta):
                if not written:
                    firsts_s.append(time.perf_counter() - began)
                written += part.text
                continue
            whole = part.text
        check(bool(written) and whole.startswith(written), f"{written!r} of {whole!r}")
        check_reply(whole, guarded(text))

    return one


async def _run_s(saying: list[Say], seed: int) -> float:
    texts = questions(seed)
    said = [list(islice(texts, MESSAGES)) for _ in saying]
    began = time.perf_counter()
    await asyncio.gather(*map(_talk, saying, said))
    return time.perf_counter() - began


async def _talk(say_one: Say, texts: list[str]) -> None:
    for text in texts:
        await say_one(text)


def _row(how: str, runs_s: list[float], note: str = "") -> Row:
    return Row(
        name=f"{MAX_PEERS} people × {MESSAGES} messages, model 200 ms{how}",
        unit="s",
        ours=sorted(runs_s)[len(runs_s) // 2],
        baseline=MESSAGES * MODEL_S,
        baseline_name="model alone",
        goal=Goal(limit=1.6, is_ratio=True),
        note=f"first run (nothing loaded yet) {runs_s[0]:.2f}, best {min(runs_s):.2f}{note}",
    )
