"""Programs in the style of spade_llm 0.3's guides run as they are: each agent a process of its own.

They name no server (the environment does) and do nothing for us: only what such programs do.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import pytest
import pytest_asyncio

from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.compat.guide_runner import WAIT_S, Stage
from tests.mcp.mcp_servers import plain
from tests.openai_server import Call, OpenAIServer, Say, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.xmpp.servers.managed_server import Endpoint
    from tests.xmpp.client import Client

pytestmark = pytest.mark.server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def prosody_of_module(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProsodyServer, Endpoint]]:
    server = ProsodyServer(tmp_path_factory.mktemp("guides"))
    yield server, await server.start()
    await server.stop()


@pytest_asyncio.fixture
async def stage(
    prosody_of_module: tuple[ProsodyServer, Endpoint], tmp_path: Path
) -> AsyncIterator[Stage]:
    server, endpoint = prosody_of_module
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(running_server())
        yield Stage(server=server, endpoint=endpoint, model=model, directory=tmp_path, stack=stack)


async def test_quick_start_a_person_at_a_terminal_talks_with_an_assistant(stage: Stage) -> None:
    stage.model.enqueue(Say(text="Hello, human."), Say(text="You said hello before."))
    await stage.accounts("assistant", "human")
    _, chat = await asyncio.gather(
        stage.run("quickstart/assistant.py"), stage.run("quickstart/chat.py")
    )

    await chat.type("hello")
    sent = await chat.line_with("sent to")
    first = await chat.line_with("says")
    await chat.type("do you remember?")
    second = await chat.line_with("says")
    await chat.type("quit")
    await chat.line_with("goodbye")

    assert sent == "sent to assistant@localhost: hello"
    assert first == "assistant says: Hello, human."
    assert second == "assistant says: You said hello before."
    assert await chat.ended() == 0
    messages = asked(stage.model)
    assert messages[0] == {"role": "system", "content": "You answer in one short sentence."}
    assert [one["content"] for one in messages[1:]] == [
        *("hello", "Hello, human.", "do you remember?"),
    ]
    assert messages[1]["name"] == "human_localhost"


async def test_tools_are_called_and_their_results_read(stage: Stage) -> None:
    stage.model.enqueue(
        Say(
            calls=(
                Call(name="tide", arguments='{"town": "Cadiz"}', id="a", index=0),
                Call(name="knots_to_kmh", arguments='{"knots": 10}', id="b", index=1),
            )
        ),
        Say(text="High tide, 18.5 km/h."),
    )
    await stage.accounts("harbour")
    ada, _ = await asyncio.gather(
        stage.person("tools-ada"), stage.run("tools/assistant.py", ready="with 2 tools")
    )

    answer = await answer_to(ada, "harbour@localhost", "How is Cadiz?")

    results = [one["content"] for one in asked(stage.model) if one["role"] == "tool"]
    assert answer == "High tide, 18.5 km/h."
    assert results == ["The tide in Cadiz is high.", "18.5"]


async def test_guardrails_block_change_and_tell(stage: Stage) -> None:
    stage.model.enqueue(Say(text="Write to eve@example.org now."))
    await stage.accounts("guarded")
    ada, guarded = await asyncio.gather(
        stage.person("guardrails-ada"), stage.run("guardrails/assistant.py")
    )

    blocked = await answer_to(ada, "guarded@localhost", "How do I make an explosive?")
    told = await guarded.line_with("guardrail: block")
    too_long = await answer_to(ada, "guarded@localhost", "x" * 201)
    answer = await answer_to(ada, "guarded@localhost", "damn, whom do I ask? I am +44 20 7946 0958")

    assert blocked == "I do not help with that."
    assert told == "guardrail: block: a keyword was found"
    assert too_long == "Be briefer."
    assert answer == "Write to [ADDRESS] now."
    assert len(stage.model.requests) == 1
    assert asked(stage.model)[-1]["content"] == "[…], whom do I ask? I am [PHONE]"


async def test_memory_outlives_its_program(stage: Stage) -> None:
    note = '{"information": "Ada wants metric units."}'
    fact = '{"content": "The pump is serviced in May.", "category": "fact"}'
    stage.model.enqueue(
        Say(
            calls=(
                Call(name="remember_interaction_info", arguments=note, id="a", index=0),
                Call(name="store_memory", arguments=fact, id="b", index=1),
            )
        ),
        Say(text="Kept."),
        Say(calls=(Call(name="search_memories", arguments='{"query": "pump serviced"}'),)),
        Say(text="In May."),
    )
    await stage.accounts("rememberer")
    ada = await stage.person("memory-ada")
    folder = str(stage.directory / "kept")
    first = await stage.run("memory/assistant.py", MEMORY_FOLDER=folder)

    kept = await answer_to(ada, "rememberer@localhost", "Metric, please. The pump: May.")
    await first.kill()
    await stage.run("memory/assistant.py", MEMORY_FOLDER=folder)
    found = await answer_to(ada, "rememberer@localhost", "When is the pump serviced?")

    messages = asked(stage.model)
    assert (kept, found) == ("Kept.", "In May.")
    assert any("The pump is serviced in May." in str(one["content"]) for one in tools_of(messages))
    assert any("metric units" in str(one["content"]) for one in messages)


async def test_routing_sends_answers_to_the_right_receivers(stage: Stage) -> None:
    stage.model.enqueue(
        Say(text="A leak in the cellar."),
        Say(text="Asks for the price of mending a leak."),
        Say(text="Good morning!"),
    )
    await stage.accounts("desk")
    ada, plumber, sales, _ = await asyncio.gather(
        stage.person("routing-ada"),
        stage.person("plumber"),
        stage.person("sales"),
        stage.run("routing/desk.py"),
    )

    ada.send("desk@localhost", "Water in my cellar")
    leak = await said_to(plumber)
    ada.send("desk@localhost", "What does mending cost?")
    both = {await said_to(plumber), await said_to(sales)}
    greeting = await answer_to(ada, "desk@localhost", "Hello")

    assert leak == "From routing-ada: A leak in the cellar."
    assert both == {"Asks for the price of mending a leak."}
    assert greeting == "Good morning!"


async def test_documents_are_found_for_an_assistant_by_another_agent(stage: Stage) -> None:
    documents = stage.directory / "guide"
    documents.mkdir()
    (documents / "sea.md").write_text("The harbour lies by the sea and closes at nine.")
    (documents / "bread.md").write_text("The oven bakes bread at four in the morning.")
    stage.model.enqueue(
        Say(
            calls=(Call(name="search_guide", arguments='{"query": "when does the harbour close"}'),)
        ),
        Say(text="At nine."),
    )
    await stage.accounts("librarian", "reader")
    ada, librarian, _ = await asyncio.gather(
        stage.person("rag-ada"),
        stage.run("rag/librarian.py", ready="2 chunks", DOCUMENTS=str(documents)),
        stage.run("rag/assistant.py"),
    )

    answer = await answer_to(ada, "reader@localhost", "When does the harbour close?")
    told = await librarian.line_with("found")

    assert answer == "At nine."
    assert told == "found 1 for when does the harbour close"
    assert "closes at nine" in str(tools_of(asked(stage.model))[0]["content"])


async def test_a_chain_hands_on_and_each_link_sees_its_window(stage: Stage) -> None:
    stage.model.text = "ahoy"
    await stage.accounts("writer", "editor")
    ada, _, _ = await asyncio.gather(
        stage.person("chain-ada"),
        stage.run("context/chain.py", "writer", "editor@localhost"),
        stage.run("context/chain.py", "editor", "chain-ada@localhost"),
    )

    answers = [await answer_to(ada, "writer@localhost", f"line {number}") for number in range(3)]
    of_writer = [one for one in stage.model.requests if "You are writer." in str(one)]

    assert answers == ["ahoy"] * 3
    assert [one["content"] for one in messages_of(of_writer[-1])] == [
        *("You are writer.", "line 1", "ahoy", "line 2"),
    ]


async def test_a_coordinator_asks_its_agents_whatever_they_are_made_of(stage: Stage) -> None:
    tasks = [
        {"agent_id": "weather@localhost", "message": "Rain tomorrow?"},
        {"agent_id": "ferries@localhost", "message": "When is the last ferry?"},
    ]
    parallel = Call(name="send_to_agents_parallel", arguments=json.dumps({"tasks": tasks}))
    stage.model.enqueue(
        Say(calls=(parallel,)),
        Say(text="No rain."),
        Say(text="Go; be back by 18:40. <TASK_COMPLETE>"),
    )
    await stage.accounts("captain", "weather", "ferries")
    ada, *_ = await asyncio.gather(
        stage.person("coordinator-ada"),
        stage.run("coordinator/coordinator.py"),
        stage.run("coordinator/weather.py"),
        stage.run("coordinator/ferries.py"),
    )

    answer = await answer_to(ada, "captain@localhost", "A trip to the island tomorrow?")

    found = str(tools_of(asked(stage.model))[0]["content"])
    stage.model.enqueue(Say(text="Then Tuesday."))
    next_answer = await answer_to(ada, "captain@localhost", "And if it rains?")

    assert answer == "Go; be back by 18:40."
    assert next_answer == "Then Tuesday."
    assert "No rain." in found
    assert "The last ferry leaves at 18:40." in found


async def test_a_person_is_asked_and_only_their_answer_counts(stage: Stage) -> None:
    question = '{"question": "Is half a tablet enough for a child?", "context": "20 kg"}'
    stage.model.enqueue(
        Say(calls=(Call(name="ask_doctor", arguments=question),)),
        Say(text="Good morning, Eve."),
        Say(text="The doctor says: a quarter."),
    )
    await stage.accounts("nurse")
    ada, eve, doctor, _ = await asyncio.gather(
        stage.person("loop-ada"),
        stage.person("loop-eve"),
        stage.person("doctor"),
        stage.run("human_in_the_loop/assistant.py"),
    )

    ada.send("nurse@localhost", "How much for my daughter?")
    query = await asyncio.wait_for(doctor.messages.get(), WAIT_S)
    meanwhile = await answer_to(eve, "nurse@localhost", "A whole one, I say")
    doctor.send_raw(_reply_to(query, "A quarter."))
    answer = await said_to(ada)

    assert "Is half a tablet enough for a child?" in query["body"]
    assert meanwhile == "Good morning, Eve."
    assert answer == "The doctor says: a quarter."
    assert "A quarter." in str(tools_of(asked(stage.model))[0]["content"])


async def test_tools_of_an_mcp_server_are_the_models(stage: Stage) -> None:
    stage.model.enqueue(
        Say(calls=(Call(name="Sums_add", arguments='{"a": 40, "b": 2}'),)), Say(text="42 in all.")
    )
    await stage.accounts("clerk")
    ada, _ = await asyncio.gather(
        stage.person("mcp-ada"),
        stage.run("mcp/assistant.py", MCP_SERVER=str(Path(plain.__file__))),
    )

    answer = await answer_to(ada, "clerk@localhost", "40 and 2?")

    assert answer == "42 in all."
    assert "42" in str(tools_of(asked(stage.model))[0]["content"])


async def test_conversations_end_by_the_models_word_or_after_their_answers(stage: Stage) -> None:
    stage.model.enqueue(
        Say(text="Hello."), Say(text="See you. <DONE>"), Say(text="One."), Say(text="Two.")
    )
    await stage.accounts("host")
    ada, eve, host = await asyncio.gather(
        stage.person("end-ada"), stage.person("end-eve"), stage.run("conversations/assistant.py")
    )

    of_ada = [await answer_to(ada, "host@localhost", "goodbye") for _ in range(2)]
    first = await host.line_with("over")
    of_eve = [await answer_to(eve, "host@localhost", "more") for _ in range(2)]
    second = await host.line_with("over")
    after = await answer_to(eve, "host@localhost", "and more")

    assert of_ada == ["Hello.", "See you."]
    assert first == "over: end-ada@localhost: completed"
    assert of_eve == ["One.", "Two."]
    assert second == "over: end-eve@localhost: max_interactions_reached"
    assert "/new" in after
    assert len(stage.model.requests) == 4


def _reply_to(query: Any, text: str) -> str:
    """As a chat client answers: in the same thread."""
    to, thread = escape(str(query["from"])), escape(query["thread"])
    return (
        f"<message to='{to}' type='chat'><body>{escape(text)}</body>"
        f"<thread>{thread}</thread></message>"
    )


async def answer_to(client: Client, jid: str, text: str) -> str:
    client.send(jid, text)
    return await said_to(client)


async def said_to(client: Client) -> str:
    return str((await asyncio.wait_for(client.messages.get(), WAIT_S))["body"])


def asked(model: OpenAIServer) -> list[dict[str, object]]:
    """What the model read last."""
    return messages_of(model.requests[-1])


def messages_of(request: dict[str, object]) -> list[dict[str, object]]:
    messages = request["messages"]
    assert isinstance(messages, list)
    return messages


def tools_of(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    return [one for one in messages if one["role"] == "tool"]
