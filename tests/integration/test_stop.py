"""Stopping a turn: by a word of whoever asked, by a program's cancel, or because it has left."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import AnswerDelta
from spade_llm.core.errors import RequestFailed
from spade_llm.providers import LLMProvider, ScriptedProvider
from spade_llm.providers.model import Completion, TextDelta
from spade_llm.tools import LLMTool, tool
from spade_llm.tools.call_log import read_calls
from tests.integration.ending_model import END, EndingModel
from tests.integration.gated_model import GatedModel
from tests.integration.network import (
    PATIENCE_S,
    answer_to,
    calling,
    eventually,
    jid_of,
    next_message,
)
from tests.openai_server import Call, Hang, OpenAIServer, Say, running_server
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    from spade_llm.agents import LLMAgent
    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec
    from spade_llm.providers.scripted import ScriptedAnswer
    from tests.integration.network import Network

STOPPED = "(I was stopped here, before the answer was finished.)"


@contextlib.asynccontextmanager
async def strict_model() -> AsyncIterator[tuple[OpenAIServer, LLMProvider]]:
    async with (
        running_server() as server,
        LLMProvider.create_vllm("test", server.base_url) as model,
    ):
        yield server, model


async def happens(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), PATIENCE_S)


async def said(client: Client) -> str:
    return str((await next_message(client))["body"])


async def test_stop_ends_the_turn_the_model_s_request_and_nothing_else(network: Network) -> None:
    async with strict_model() as (server, model):
        server.enqueue(Hang())
        assistant = await network.assistant(model)
        ada = await network.person()

        ada.send(jid_of(assistant), "tell me a long story")
        await happens(server.was_asked)
        assert await answer_to(ada, assistant, "/stop") == "Stopped."
        await happens(server.was_left)

        assert await answer_to(ada, assistant, "hello") == "You said: hello"
        messages = server.requests[-1]["messages"]
        assert isinstance(messages, list)
        assert [one["content"] for one in messages[1:]] == [
            "tell me a long story",
            STOPPED,
            "hello",
        ]
        assert ada.waiting() == []


async def test_queued_requests_are_stopped_too_and_the_answer_reports_it(network: Network) -> None:
    model = GatedModel()
    assistant = await network.assistant(model)
    ada, bea = await network.person(), await network.person("bea")
    bea.send(jid_of(assistant), "wait, I am bea")
    await happens(model.was_asked)
    model.was_asked.clear()
    for text in ("wait for it", "and then this", "and that"):
        ada.send(jid_of(assistant), text)
    await happens(model.was_asked)

    told = await answer_to(ada, assistant, "/stop")

    assert told == "Stopped. The 2 messages that waited behind it are not answered either."
    assert await answer_to(ada, assistant, "hello") == "hello"
    model.gate.set()
    assert await said(bea) == "wait, I am bea"


async def test_there_may_be_nothing_to_stop(network: Network) -> None:
    assistant, ada = await network.assistant(), await network.person()

    assert await answer_to(ada, assistant, "/stop") == "There is nothing to stop."
    assert "/stop" in await answer_to(ada, assistant, "/help")


async def test_stop_without_a_slash_stops_what_runs_and_is_said_to_the_model_otherwise(
    network: Network,
) -> None:
    model = GatedModel()
    assistant, ada = await network.assistant(model), await network.person()
    ada.send(jid_of(assistant), "wait for it")
    await happens(model.was_asked)

    assert await answer_to(ada, assistant, "Stop!") == "Stopped."
    assert await answer_to(ada, assistant, "stop") == "stop"


async def test_stop_is_no_answer_to_a_question_and_ends_it(network: Network) -> None:
    sent: list[str] = []
    parameters = {"type": "object", "properties": {"to": {"type": "string"}}}
    send = LLMTool("send", "sends", parameters, lambda to: sent.append(to), needs_approval=True)
    async with strict_model() as (server, model):
        server.enqueue(Say(calls=(Call(name="send", arguments='{"to": "bob"}'),)))
        assistant = await network.assistant(model, config=AssistantConfig(tools=(send,)))
        ada = await network.person()
        ada.send(jid_of(assistant), "send it")
        assert "May I run this tool?" in await said(ada)

        assert await answer_to(ada, assistant, "/stop") == "Stopped."

        assert await answer_to(ada, assistant, "yes") == "You said: yes"
        assert (sent, ada.waiting()) == ([], [])


async def test_a_tool_that_runs_in_another_agent_is_cancelled(network: Network) -> None:
    runs = asyncio.Event()

    @tool
    async def wait_long() -> str:
        """Takes its time."""
        runs.set()
        await asyncio.Event().wait()
        return ""

    tools = await network.tools(tools=[wait_long])
    script: list[ScriptedAnswer] = [calling("wait_long"), "welcome back"]
    services = Services(tools=(jid_of(tools),))
    assistant = await network.assistant(ScriptedProvider(script), services=services)
    ada = await network.person()
    ada.send(jid_of(assistant), "wait")
    await happens(runs)

    assert await answer_to(ada, assistant, "/stop") == "Stopped."

    async def is_logged() -> bool:
        await answer_to(ada, assistant, "/help")
        assert tools.options.data is not None
        calls = read_calls(tools.options.data / "calls", last=9)
        return [call.ended.outcome for call in calls if call.ended] == ["cancelled"]

    await eventually(is_logged)
    assert await answer_to(ada, assistant, "hello") == "welcome back"


async def test_a_program_that_reads_no_further_cancels_the_turn(network: Network) -> None:
    async with strict_model() as (server, model):
        server.enqueue(Hang(after="Once"))
        assistant, program = await network.assistant(model), await network.program()
        client = ChatClient(program.node.requester, jid_of(assistant))

        async with contextlib.aclosing(client.stream("a story", conversation_id="c")) as parts:
            assert await anext(parts) == AnswerDelta(text="Once")

        await happens(server.was_left)
        assert (await client.say("hello", conversation_id="c")).text == "You said: hello"


async def test_a_person_stops_what_a_program_of_theirs_began(network: Network) -> None:
    async with strict_model() as (server, model):
        server.enqueue(Hang(after="Once"))
        assistant, program = await network.assistant(model), await network.program()
        phone = Client(jid_of(program), network.passwords[jid_of(program)])
        network.stack.push_async_callback(phone.close)
        await phone.log_in(network.server.endpoint)
        client = ChatClient(program.node.requester, jid_of(assistant))
        parts = client.stream("a story")
        assert await anext(parts) == AnswerDelta(text="Once")

        phone.send(jid_of(assistant), "/stop")

        with pytest.raises(RequestFailed) as failure:
            await anext(parts)
        assert failure.value.wire_code == "cancelled"
        assert await said(phone) == "Stopped."


class Dripping:
    """Says something whenever it is told to, for ever."""

    name = "dripping"

    def __init__(self) -> None:
        self.drops: asyncio.Queue[str] = asyncio.Queue()
        self.was_left = asyncio.Event()

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        return Completion(text=await self.drops.get())

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        try:
            while True:
                yield TextDelta(await self.drops.get())
        finally:
            self.was_left.set()


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_a_program_that_is_gone_is_worked_for_no_longer(network: Network) -> None:
    model = Dripping()
    assistant, program = await network.assistant(model), await network.program()
    parts = ChatClient(program.node.requester, jid_of(assistant)).stream("a story")
    model.drops.put_nowait("Once ")
    model.drops.put_nowait("upon")
    assert await anext(parts) == AnswerDelta(text="Once")
    assert program.connection is not None

    await program.connection.close()
    model.drops.put_nowait(" a time")

    await happens(model.was_left)
    await parts.aclose()


async def test_an_answer_to_an_offline_person_is_delivered_later(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model), await network.person()
    ada.send(jid_of(assistant), "a story")
    await ada.ping()
    await is_at_work(assistant)
    password = network.passwords[ada.bare]
    await ada.close()

    model.says("Once upon a time", END)

    again = Client(ada.bare, password)
    network.stack.push_async_callback(again.close)
    await again.log_in(network.server.endpoint)
    assert await said(again) == "Once upon a time"


async def is_at_work(assistant: LLMAgent) -> None:
    async def has_begun() -> bool:
        await asyncio.sleep(0)
        return assistant.node.dispatcher.load.running > 0

    await eventually(has_begun)
