"""Spans follow a message across agents; where nobody listens nothing is recorded or delayed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.core import tracing
from spade_llm.core.errors import Failure, RequestFailed
from spade_llm.core.tracing import NOOP_SPAN, SpanKind, Tracer, TracingConfig, read_trace_parent
from spade_llm.messaging import (
    AclMessage,
    Encoding,
    Idempotency,
    InMemoryNetwork,
    Node,
    OutgoingRequest,
    Performative,
    Request,
    Requester,
    Route,
    VolatileAnswerLog,
    from_metadata,
    to_metadata,
)
from tests.otlp_receiver import CLIENT, Receiver, running_receiver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEST = "test/1"
WAIT_S = 5.0
SECRET = "my doctor says"

trace_parents = st.builds(
    "00-{:032x}-{:016x}-{:02x}".format,
    st.integers(min_value=1, max_value=2**128 - 1),
    st.integers(min_value=1, max_value=2**64 - 1),
    st.integers(min_value=0, max_value=255),
)


@settings(deadline=None)
@given(trace_parents, st.sampled_from([Encoding.ACL, Encoding.FORM]))
def test_a_trace_parent_travels_with_a_request_and_not_with_its_answer(
    parent: str, encoding: Encoding
) -> None:
    message = AclMessage(
        performative=Performative.REQUEST,
        sender="a@x/1",
        receiver="b@x/1",
        content="{}",
        encoding=encoding,
        trace_parent=parent,
    )

    fields = to_metadata(message)
    read = from_metadata(fields, sender="a@x/1", receiver="b@x/1", content="{}", encoding=encoding)

    assert read.trace_parent == parent
    assert read.extra == {}
    assert "traceparent" not in to_metadata(read.reply(Performative.INFORM, "{}"))


@settings(deadline=None)
@given(st.text(max_size=80))
def test_invalid_trace_parents_are_ignored(text: str) -> None:
    fields = {"performative": "request", "traceparent": f"ff{text}"}

    assert from_metadata(fields, sender="a", receiver="b", content="").trace_parent == ""
    assert read_trace_parent(f"00-{'0' * 32}-{'1' * 16}-01") == ""


class Agent:
    """A node that hands each request on to the next one, if there is one."""

    def __init__(self, network: InMemoryNetwork, jid: str, tracer: Tracer, then: str) -> None:
        self.tracer = tracer
        self._then = then
        transport = network.join(jid, self)
        self.node = Node(transport.send, VolatileAnswerLog(), tracer=tracer)
        route = Route(handler=self._answer, effect_of=lambda _message: Idempotency.READ)
        self.node.dispatcher.route(TEST, route)
        self.receive = self.node.receive
        self.bounced = self.node.bounced

    async def _answer(self, request: Request) -> str:
        tracing.current_span().quote({"what": request.message.content})
        if request.message.content == "fail":
            raise Failure(SECRET)
        if not self._then:
            return request.message.content
        with tracing.span("hand on") as span:
            span.note({"to": "the next", "half": "\ud800"})
            return await asked(self.node.requester, self._then, request.message.content)


async def asked(requester: Requester, jid: str, content: str) -> str:
    question = OutgoingRequest(peer=jid, ontology=TEST, content=content)
    return (await requester.ask(question, timeout_s=WAIT_S)).content


Ask = Callable[[str], Awaitable[str]]


@asynccontextmanager
async def a_chain(telemetry: dict[str, TracingConfig | None]) -> AsyncIterator[Ask]:
    """Agents of these names, each handing on to the next; ends when all spans have left."""
    names = list(telemetry)
    async with AsyncExitStack() as stack:
        network = InMemoryNetwork()
        for name, then in zip(names, [*names[1:], ""], strict=True):
            tracer = Tracer(telemetry[name], service=name, instance=f"{name}@x")
            await stack.enter_async_context(tracer)
            agent = Agent(network, f"{name}@x/1", tracer, f"{then}@x/1" if then else "")
            stack.push_async_callback(agent.node.close)
        asker = Agent(network, "asker@x/1", Tracer(None, service="", instance=""), "")
        yield lambda content: asked(asker.node.requester, f"{names[0]}@x/1", content)
        await asker.node.close()


@asynccontextmanager
async def a_traced_chain(
    names: str, *, spans: int, silent: str = "", include_text: bool = False
) -> AsyncIterator[tuple[Ask, Receiver]]:
    """Ends when so many spans have arrived, however busy the machine is."""
    async with running_receiver() as receiver:
        listens = TracingConfig(endpoint=receiver.url, include_text=include_text)
        async with a_chain({name: None if name in silent else listens for name in names}) as ask:
            yield ask, receiver
        await receiver.until(lambda one: len(one.spans) >= spans)


async def test_spans_of_one_message_are_one_trace_across_agents() -> None:
    async with a_traced_chain("abc", spans=7) as (ask, receiver):
        assert await ask(SECRET) == SECRET

    first, second, third = (receiver.served(TEST, service) for service in "abc")
    handing = {one.service: one for one in receiver.named("hand on")}
    assert {one.trace_id for one in receiver.spans} == {first.trace_id}
    assert first.parent_id == ""
    assert handing["a"].parent_id == first.span_id
    calls = {one.service: one for one in receiver.spans if one.kind == CLIENT}
    assert {name: call.parent_id for name, call in calls.items()} == {
        "a": handing["a"].span_id,
        "b": handing["b"].span_id,
    }
    assert [second.parent_id, third.parent_id] == [calls["a"].span_id, calls["b"].span_id]
    assert SECRET.encode() not in receiver.payload
    assert b"asker@x" not in receiver.payload


async def test_an_agent_that_records_nothing_hands_on_what_its_work_is_a_part_of() -> None:
    async with a_traced_chain("abc", spans=4, silent="b") as (ask, receiver):
        await ask("hello")

    (call,) = [one for one in receiver.spans if one.kind == CLIENT]
    last = receiver.served(TEST, "c")
    assert (last.trace_id, last.parent_id) == (call.trace_id, call.span_id)


async def test_text_of_people_is_there_only_where_it_was_asked_for() -> None:
    async with a_traced_chain("a", spans=1, include_text=True) as (ask, receiver):
        await ask(SECRET)

    (span,) = receiver.spans
    assert span.facts["what"] == SECRET
    assert span.facts["enduser.id"] == "asker@x"


async def test_failed_spans_have_the_error_type_and_not_its_message() -> None:
    async with a_traced_chain("ab", spans=1) as (ask, receiver):
        with pytest.raises(RequestFailed, match=SECRET):
            await ask("fail")

    assert {(one.service, one.facts["error.type"]) for one in receiver.spans if one.is_error} == {
        ("a", "Failure"),
    }
    assert SECRET.encode() not in receiver.payload


@pytest.mark.thorough
async def test_a_collector_that_hangs_delays_no_answer_and_the_end_only_for_a_while() -> None:
    async with running_receiver(is_slow=True) as receiver:
        async with a_chain({"a": TracingConfig(endpoint=receiver.url)}) as ask:
            for _ in range(600):
                await ask("hello")
            await receiver.until(lambda one: bool(one.spans))
            ending = time.monotonic()
        assert time.monotonic() - ending < tracing.FLUSH_S + WAIT_S


@pytest.mark.thorough
async def test_a_collector_that_is_away_costs_no_answer_and_few_lines_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_chain({"a": TracingConfig(endpoint="http://127.0.0.1:9")}) as ask:
        assert await ask("hello") == "hello"

    assert len([one for one in caplog.records if "exporter" in one.name]) <= 1


async def test_nothing_is_made_where_nothing_is_recorded() -> None:
    with tracing.span("one") as one, tracing.detached_span("two", SpanKind.CLIENT) as two:
        await asyncio.sleep(0)
        assert one is two is NOOP_SPAN
    assert tracing.current_span() is NOOP_SPAN
