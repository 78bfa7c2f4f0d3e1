"""A question to a service of ours and its answer, against two bare slixmpp clients.

Both askers are in this process, both answerers in their own; rounds alternate on one server.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.echo import EchoClient
from bench.process import running
from bench.raw import RawClient
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.stage import Stage

    Ask = Callable[[], Awaitable[str]]

BODY = "a kilobyte of ordinary text, & some <markup>. " * 22
IN_FLIGHT = 64
AT_MOST = Goal(limit=1.3, is_ratio=True)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    asker = await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with (
        stage.agent("echo", "echo"),
        stage.agent("raw-echo", "raw-echo"),
        running(agent),
        RawClient(await stage.account("raw-asker")) as raw,
    ):
        client = EchoClient(agent.node.requester, (await stage.account("echo")).jid)
        raw_peer = await _address(raw, (await stage.account("raw-echo")).jid)
        ours, theirs = partial(client.ask, BODY), partial(raw.ask, raw_peer, BODY)
        check(await ours() == BODY == await theirs(), "an echo is not what was said")
        return [await _one_at_a_time(ours, theirs, scale), await _many(ours, theirs, scale)]


async def _address(raw: RawClient, peer: str) -> str:
    """Its bare JID, once a first answer shows that it is there."""
    check(await raw.ask(peer, "hello") == "hello", "the bare client gives no echo")
    return peer


async def _one_at_a_time(ours: Ask, theirs: Ask, scale: Scale) -> Row:
    mine, bare = Samples(), Samples()
    for _ in range(scale.of(20, quick=2)):
        await mine.add(ours, times=100)
        await bare.add(theirs, times=100)
    return Row(
        name="service round trip, 1 KB",
        unit="ms",
        ours=mine.median,
        baseline=bare.median,
        baseline_name="slixmpp",
        goal=AT_MOST,
        spread=mine.spread,
    )


async def _many(ours: Ask, theirs: Ask, scale: Scale) -> Row:
    mine, bare = Samples(), Samples()
    times = scale.of(2000, quick=300)
    for _ in range(scale.of(7, quick=2)):
        await mine.add_mean(ours, times=times, in_flight=IN_FLIGHT)
        await bare.add_mean(theirs, times=times, in_flight=IN_FLIGHT)
    return Row(
        name=f"… {IN_FLIGHT} in flight, each",
        unit="ms",
        ours=mine.median,
        baseline=bare.median,
        baseline_name="slixmpp",
        goal=AT_MOST,
        spread=mine.spread,
        note=f"{1000 / mine.median:.0f} per s",
    )
