"""A question to a service of ours and its answer, against two bare slixmpp clients, on each server.

Both askers are in this process, both answerers in their own; rounds alternate on one server.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bench.echo import EchoClient
from bench.process import running
from bench.raw import RawClient
from bench.row import Goal, Row, Scale, check
from bench.servers import ejabberd, embedded, has_ejabberd
from bench.stage import Stage
from bench.timing import Samples
from spade_llm.agents import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from bench.servers import Launch

    Ask = Callable[[], Awaitable[str]]

SENTENCE = "a kilobyte of ordinary text, & some <markup>. "
BODIES = {"1 KB": SENTENCE * 22, "64 KB": SENTENCE * 1425}
TIMES = {"1 KB": 150, "64 KB": 10}
"""Calls, one after the other, between two turns of the other side."""
ROUNDS = {"1 KB": 7, "64 KB": 3}
IN_FLIGHT = (4, 16, 64)
ROUND_TRIP = Goal(limit=1.2, is_ratio=True)
RATE = Goal(limit=0.9, is_ratio=True, is_least=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Who asks, over one server, with one body."""

    ours: Ask
    theirs: Ask
    name: str
    """Of the body and the server."""
    times: int
    rounds: int


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    rows = await _on(stage, "", scale)
    for name, launch in {} if scale.is_quick else _others().items():
        async with Stage(launch) as other:
            rows += await _on(other, f", {name}", scale)
    return rows


def _others() -> Mapping[str, Launch]:
    if has_ejabberd():
        return {"embedded": embedded, "ejabberd": ejabberd}
    print("wire: ejabberd is not installed, and left out", file=sys.stderr)
    return {"embedded": embedded}


async def _on(stage: Stage, server: str, scale: Scale) -> list[Row]:
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
        rows = []
        for size, body in BODIES.items():
            ours, theirs = partial(client.ask, body), partial(raw.ask, raw_peer, body)
            check(await ours() == body == await theirs(), "an echo is not what was said")
            pair = Pair(
                ours=ours,
                theirs=theirs,
                name=f"{size}{server}",
                times=scale.of(TIMES[size], quick=5),
                rounds=scale.of(ROUNDS[size], quick=2),
            )
            in_flight = IN_FLIGHT[:1] if scale.is_quick else IN_FLIGHT
            rows += [await _one_at_a_time(pair), *[await _many(pair, n) for n in in_flight]]
        return rows


async def _address(raw: RawClient, peer: str) -> str:
    """Its bare JID, once a first answer shows that it is there."""
    check(await raw.ask(peer, "hello") == "hello", "the bare client gives no echo")
    return peer


async def _one_at_a_time(pair: Pair) -> Row:
    mine, bare = Samples(), Samples()
    for _ in range(pair.rounds):
        await mine.add(pair.ours, times=pair.times)
        await bare.add(pair.theirs, times=pair.times)
    return Row(
        name=f"service round trip, {pair.name}",
        unit="ms",
        ours=mine.median,
        baseline=bare.median,
        baseline_name="slixmpp",
        goal=ROUND_TRIP,
        spread=mine.spread,
    )


async def _many(pair: Pair, in_flight: int) -> Row:
    mine, bare = Samples(), Samples()
    times = max(2 * pair.times, in_flight)
    for _ in range(pair.rounds):
        await mine.add_mean(pair.ours, times=times, in_flight=in_flight)
        await bare.add_mean(pair.theirs, times=times, in_flight=in_flight)
    rates = Samples([1000 / one for one in mine.times_ms])
    return Row(
        name=f"… {in_flight} in flight, {pair.name}",
        unit="per s",
        ours=rates.median,
        baseline=1000 / bare.median,
        baseline_name="slixmpp",
        goal=RATE,
        spread=rates.spread,
    )
