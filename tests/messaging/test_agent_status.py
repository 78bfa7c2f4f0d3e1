"""What an agent says of what it has answered: to each their own, to a gateway all, and no words."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from spade_llm.agents.llm import provider_kind
from spade_llm.core import tracing
from spade_llm.core.errors import NotFound, RequestError, RequestRefused
from spade_llm.messaging import (
    Body,
    Empty,
    Performative,
    PrincipalRequester,
    RequestSender,
    agent_status,
)
from spade_llm.messaging.request import MAX_KEPT, RequestHistory
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.providers import LLMProvider, OfflineProvider
from tests.messaging.node_harness import PATIENCE_S, Member, network_of, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.messaging import HandledRequest, Request

AGENT, GATEWAY, ANA, BOB = "agent@home/1", "gateway@home/1", "ana@home", "bob@home"
TALK = "talk/1"


class Tell(Body):
    op: ClassVar[str] = "tell"
    text: str


@asynccontextmanager
async def an_agent() -> AsyncIterator[tuple[Member, Member, Member]]:
    """It, its gateway, and somebody."""

    async def told(_request: Request, body: Tell) -> Empty:
        if body.text == "lost":
            raise NotFound("the secret is lost")
        return Empty()

    async def summary() -> str:
        return "listens"

    async with network_of(AGENT, GATEWAY, f"{ANA}/phone") as (agent, gateway, ana):
        dispatcher = agent.node.dispatcher
        dispatcher.gateways = frozenset({"gateway@home"})
        service = RpcService(TALK)
        service.on(Tell, told)
        service.attach(dispatcher)
        agent_status.serve_status(dispatcher, kind="tools", summary=summary)
        yield agent, gateway, ana


async def tell(asks: RequestSender, text: str, *, thread: str = "") -> None:
    await RpcClient(asks, AGENT, TALK).ask(Tell(text=text), Empty, conversation_id=thread)


async def recent(asks: RequestSender, *, limit: int = 50) -> Sequence[HandledRequest]:
    return await agent_status.ask_recent(asks, AGENT, limit=limit, timeout_s=PATIENCE_S)


async def test_callers_see_their_own_requests_and_a_gateway_without_principal_sees_all() -> None:
    async with an_agent() as (_, gateway, ana):
        for_ana, for_bob = (PrincipalRequester(gateway.node.requester, one) for one in (ANA, BOB))
        await tell(for_ana, "the secret", thread="s")
        await tell(for_bob, "the secret", thread="s")
        await tell(ana.node.requester, "the secret")
        await tell(gateway.node.requester, "the secret")
        with pytest.raises(RequestRefused):
            await tell(for_bob, "lost")

        everything = await recent(gateway.node.requester)
        hers, also_hers = await recent(for_ana), await recent(ana.node.requester)
        his = await recent(for_bob, limit=1)

    assert [one.asker for one in everything] == [BOB, "gateway@home", ANA, BOB, ANA]
    assert {(one.ontology, one.op) for one in everything} == {(TALK, "tell")}
    assert [one.outcome for one in everything] == ["not-found", *["inform"] * 4]
    assert everything[-1].conversation == "s"
    assert all(one.seconds >= 0 for one in everything)
    assert sorted(one.at for one in everything) == [one.at for one in reversed(everything)]
    assert hers == also_hers == tuple(one for one in everything if one.asker == ANA)
    assert list(his) == [everything[0]]
    assert "secret" not in repr(everything)


async def test_work_is_counted_and_questions_about_it_are_not() -> None:
    async with an_agent() as (_, gateway, ana):
        for _ in range(3):
            await tell(ana.node.requester, "hello")
        await recent(gateway.node.requester)
        said = await agent_status.ask_status(ana.node.requester, AGENT, timeout_s=PATIENCE_S)

    assert (said.answered, said.per_minute, said.running) == (3, 3, 0)


async def test_the_trace_that_a_request_is_a_part_of_is_named() -> None:
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    async with an_agent() as (_, gateway, ana):
        token = tracing._current.set(tracing.NoopSpan(parent))
        await tell(ana.node.requester, "hello")
        tracing._current.reset(token)
        await tell(ana.node.requester, "hello")

        traces = [one.trace for one in await recent(gateway.node.requester)]

    assert traces == ["", "a" * 32]


async def test_recent_requests_are_limited_to_one_message_and_to_100() -> None:
    async with an_agent() as (agent, gateway, _):
        long = request("{}", sender=f"{ANA}/phone", conversation_id="&" * 1024)
        for _ in range(MAX_KEPT):
            answer = long.reply(Performative.INFORM, "{}")
            agent.node.dispatcher.recent.note(long, answer, since_s=0.0)

        told = await recent(gateway.node.requester, limit=100)

        assert 20 < len(told) < 100
        for limit in (0, 101):
            with pytest.raises(RequestError, match="limit"):
                await recent(gateway.node.requester, limit=limit)


def test_the_latest_are_kept_and_the_last_minute_is_counted() -> None:
    now_s = 100.0
    known = RequestHistory(clock=lambda: now_s)
    asked = request("{}")
    odd = replace(asked, content='{"op":"what_is_it"}')
    for number in range(MAX_KEPT + 1):
        now_s = 100.0 + number
        known.note(asked, asked.reply(Performative.INFORM, "{}"), since_s=now_s - 1)
    known.note(odd, odd.reply(Performative.NOT_UNDERSTOOD, "{}"), since_s=now_s - 2)

    newest, *others = known.latest(1000)

    assert (newest.op, newest.outcome, newest.seconds) == ("", "not-understood", 2.0)
    assert len(others) == MAX_KEPT - 1
    assert known.answered == MAX_KEPT + 2
    assert known.per_minute == 61
    now_s += 61
    assert known.per_minute == 0
    assert len(known.latest(1000)) == MAX_KEPT


def test_a_model_is_named_by_what_it_speaks() -> None:
    assert provider_kind(LLMProvider.create_openai(api_key="none", model="gpt-4o")) == "OpenAI"
    assert provider_kind(OfflineProvider()) == "Offline"
