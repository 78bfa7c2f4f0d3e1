"""One question to four agents, each a process of its own, is one trace; a kill loses no count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.assistant.chat.client import ChatClient
from tests.openai_server import Call, Hang, Say
from tests.otlp_receiver import CLIENT, Receiver, running_receiver
from tests.processes.deployment import running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.otlp_receiver import ReceivedSpan
    from tests.processes.deployment import Deployment

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

CHAT, MEMORY, RAG, TOOLS = (f"spade-llm.{name}/1" for name in ("chat", "memory", "rag", "tools"))
SECRET = "Zanzibar"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def receiver() -> AsyncIterator[Receiver]:
    async with running_receiver() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(
    tmp_path_factory: pytest.TempPathFactory, receiver: Receiver
) -> AsyncIterator[Deployment]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        environment.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        async with running_deployment(tmp_path_factory.mktemp("tracing")) as running:
            yield running


async def test_a_question_is_one_trace_through_all_agents(
    deployment: Deployment, receiver: Receiver
) -> None:
    deployment.model.enqueue(
        Say(calls=(Call(name="calculator", arguments='{"expression":"6*7"}'),))
    )
    deployment.model.enqueue(Say(text=f"42, as in {SECRET}"))
    program = await deployment.program("asking")
    reply = await ChatClient(program.node.requester, "assistant@localhost").say(f"6*7, {SECRET}?")
    assert reply.text == f"42, as in {SECRET}"

    await receiver.until(_is_whole)
    (root,) = _roots(receiver)
    trace = [one for one in receiver.spans if one.trace_id == root.trace_id]
    by_id = {one.span_id: one for one in trace}

    def way_to(span: ReceivedSpan) -> list[str]:
        """Names from the root down."""
        above = by_id.get(span.parent_id)
        name = f"{span.service}: {span.name}"
        return [*way_to(above), name] if above else [name]

    ways = [way_to(one) for one in trace]
    chat = f"assistant: {CHAT} say"
    assert [chat, "assistant: recall", f"assistant: {MEMORY} search"] in ways
    assert [
        *(chat, "assistant: recall", f"assistant: {MEMORY} search", f"memory: {MEMORY} search"),
    ] in ways
    assert [
        *(chat, "assistant: retrieve", f"assistant: {RAG} retrieve", f"rag: {RAG} retrieve"),
    ] in ways
    assert ways.count([chat, "assistant: chat test"]) == 2
    calling = [chat, "assistant: tools", "assistant: execute_tool calculator"]
    assert [*calling, f"assistant: {TOOLS} call", f"tools: {TOOLS} call"] in ways
    assert all(one.parent_id in by_id for one in trace if one is not root)
    asking = [one for one in trace if one.name == "chat test"]
    assert {one.kind for one in asking} == {CLIENT}
    assert all(one.facts["gen_ai.usage.input_tokens"] for one in asking)
    assert SECRET.encode() not in receiver.payload
    assert b"asking@localhost" not in receiver.payload


async def test_usage_before_a_kill_is_counted_after_it(deployment: Deployment) -> None:
    deployment.model.enqueue(Hang())
    program = await deployment.program("killing")
    client = ChatClient(program.node.requester, "assistant@localhost")
    person = await deployment.person("ada")
    asked = deployment.asked(1)
    person.send("assistant@localhost", "hello")
    await asked
    await deployment.kill("assistant")

    deployment.model.enqueue(Say(text="here I am"))
    await deployment.start("assistant")
    while (await person.received())["body"] != "here I am":
        continue
    person.send("assistant@localhost", "/usage")
    usage = str((await person.received())["body"])

    # The call that the kill cut off, and that of the turn which was taken up again.
    assert "answers: 2, model calls: 2 (" in usage
    assert (await client.usage()).days == ()


def _roots(receiver: Receiver) -> list[ReceivedSpan]:
    return [one for one in receiver.named(f"{CHAT} say") if not one.parent_id]


def _is_whole(receiver: Receiver) -> bool:
    """What was asked of others comes from their own processes, each when it likes."""
    traces = {root.trace_id for root in _roots(receiver)}
    seen = {(one.service, one.name) for one in receiver.spans if one.trace_id in traces}
    return seen >= {
        ("assistant", f"{CHAT} say"),
        ("memory", f"{MEMORY} search"),
        ("rag", f"{RAG} retrieve"),
        ("tools", f"{TOOLS} call"),
    }
