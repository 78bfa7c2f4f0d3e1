"""The official MCP client reaches four agents, each in a process of its own, over `spade-llm mcp`:
on standard streams and over HTTP, in the protocol of today and in the one with a handshake."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from mcp.shared.exceptions import MCPError

from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.tools.entry_tool import SubjectScope
from spade_llm.memory.tools.toolset import entry_tools
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from tests.openai_server import Hang
from tests.processes.deployment import Deployment, running_deployment
from tests.processes.mcp_child import Session, Start, calling, connected, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from mcp.client.client import Client

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

ADA, BOB, ASSISTANT = "ada@localhost", "bob@localhost", "assistant@localhost"
PATIENCE_S = 15.0
"""Longer than a request to an agent that is away may take."""
WAYS: dict[str, Callable[[Start], AbstractAsyncContextManager[Client]]] = {
    "stdio": lambda start: start.over_stdio(),
    "stdio, handshake": lambda start: start.over_stdio("legacy"),
    "http": lambda start: start.over_http(),
    "http, handshake": lambda start: start.over_http("legacy"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path_factory.mktemp("deployment")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def start(deployment: Deployment) -> Start:
    return await start_as(deployment, ADA)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=WAYS)
async def client(start: Start, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    session = Session(WAYS[request.param](start))
    yield await session.client()
    await session.close()


async def start_as(deployment: Deployment, person: str, *options: str) -> Start:
    await deployment.account(person.partition("@")[0])
    return Start(
        folder=deployment.directory / "people",
        endpoint=deployment.endpoint,
        person=person,
        options=options,
    ).has_account()


async def test_the_tools_of_the_specification_are_listed_word_for_word(
    client: Client, deployment: Deployment
) -> None:
    program = await deployment.program("reader")
    scope = SubjectScope(store=MemoryClient(program.node.requester, "memory@localhost"), owner=ADA)

    listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    for tool in entry_tools(scope):
        assert listed[tool.name].description == tool.description
        assert listed[tool.name].input_schema == tool.spec.parameters
    others = set(listed) - {tool.name for tool in entry_tools(scope)}
    assert others == {
        "search_documents",
        "answer_from_documents",
        "list_documents",
        "ask_agent",
        "list_agents",
    }


async def test_a_client_learns_which_tools_change_or_remove_something(client: Client) -> None:
    listed = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    def hints(name: str) -> tuple[bool | None, ...]:
        hint = listed[name]
        assert hint is not None
        return hint.read_only_hint, hint.destructive_hint, hint.open_world_hint

    assert hints("memory_search") == (True, False, False)
    assert hints("memory_store") == (False, False, False)
    assert hints("memory_delete") == (False, True, False)
    assert hints("search_documents") == (True, False, False)
    assert hints("ask_agent") == (False, True, True)


async def test_stored_entries_are_found(client: Client) -> None:
    call = calling(client)

    stored = await call("memory_store", content="The spare key is under the blue pot")
    found = await call("memory_search", query="spare key", search_mode="keyword", top_k=1)

    assert [one["content"] for one in found["results"]] == [stored["content"]]
    assert await call("memory_delete", id=stored["id"]) == {
        "deleted_count": 1,
        "deleted_ids": [stored["id"]],
    }


async def test_wrong_arguments_are_a_result_that_a_model_can_act_on(client: Client) -> None:
    call = calling(client)

    search = await call("memory_search", query="x", top_k="five")
    documents = await call("search_documents", query="x", top_k=21)
    agent = await call("ask_agent", message="hello", agent="mallory@elsewhere.example")

    assert [one["error_type"] for one in (search, documents, agent)] == ["ValidationError"] * 3
    assert search["message"] == "top_k must be a whole number from 1 to 1000, not 'five'"
    assert documents["message"] == "top_k must be a whole number from 1 to 20, not 21"
    assert agent["message"].startswith(f"agent must be one of {ASSISTANT}, not")


async def test_arguments_that_no_message_carries_are_refused_with_the_limit(
    client: Client,
) -> None:
    answer = await calling(client)("memory_store", content="x" * 1_000_000)

    assert (answer["error"], answer["error_type"]) == (True, "ValidationError")


async def test_a_tool_that_is_not_there_is_a_protocol_error(client: Client) -> None:
    with pytest.raises(MCPError, match="unknown tool 'nothing'") as raised:
        await client.call_tool("nothing", {})

    assert raised.value.code == -32602


async def test_an_answer_is_seen_while_it_comes(client: Client) -> None:
    pieces: list[tuple[float, str]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        pieces.append((progress, message or ""))

    result = await client.call_tool("ask_agent", {"message": "hello"}, progress_callback=note)

    answer = json.loads(text_of(result))
    assert answer["text"] == "You said: hello"
    assert "".join(text for _, text in pieces) == answer["text"]
    assert [count for count, _ in pieces] == sorted({count for count, _ in pieces})


async def test_a_conversation_goes_on_where_it_is_named_and_only_there(
    client: Client, deployment: Deployment
) -> None:
    call = calling(client)

    first = await call("ask_agent", message="my dog is called Rex")
    await call("ask_agent", message="and mine?", conversation=first["conversation"])
    same = said(deployment)
    other = await call("ask_agent", message="who?")

    assert "my dog is called Rex" in same
    assert other["conversation"] != first["conversation"]
    assert "my dog is called Rex" not in said(deployment)


def said(deployment: Deployment) -> list[str]:
    """By the person, as the model was told last."""
    messages: Any = deployment.model.requests[-1]["messages"]
    return [one["content"] for one in messages if one["role"] == "user"]


async def test_a_cancellation_stops_only_its_own_turn(
    client: Client, deployment: Deployment
) -> None:
    deployment.model.was_left.clear()
    deployment.model.enqueue(Hang(after="I think"))
    begun = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    asking = asyncio.create_task(
        client.call_tool("ask_agent", {"message": "think"}, progress_callback=note)
    )
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
        meanwhile = await calling(client)("list_agents")
        asking.cancel()
        await deployment.model.was_left.wait()

    assert [one["is_there"] for one in meanwhile["agents"]] == [True] * 4
    assert (await calling(client)("memory_list", limit=1))["limit"] == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_ending_the_client_process_stops_its_turns(
    mode: str, deployment: Deployment, start: Start
) -> None:
    async with start.over_stdio(mode) as client:
        await left_in_the_middle(client, deployment)

    async with asyncio.timeout(PATIENCE_S):
        await deployment.model.was_left.wait()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_disconnecting_from_the_http_server_stops_the_turn(
    mode: str, deployment: Deployment, start: Start
) -> None:
    async with start.at_a_url() as url:
        async with connected(url, mode=mode) as client:
            await left_in_the_middle(client, deployment)

        async with asyncio.timeout(PATIENCE_S):
            await deployment.model.was_left.wait()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_http_server_that_is_stopped_stops_what_it_was_asked_for(
    mode: str, deployment: Deployment, start: Start
) -> None:
    async with start.serving_http() as (running, url), connected(url, mode=mode) as client:
        await left_in_the_middle(client, deployment)
        running.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            _, errors = await running.communicate()
            await deployment.model.was_left.wait()

    assert running.returncode == 0
    assert b"Traceback" not in errors


async def left_in_the_middle(client: Client, deployment: Deployment) -> None:
    """Returns while the model is thinking."""
    deployment.model.was_left.clear()
    deployment.model.enqueue(Hang())
    asking = asyncio.create_task(client.call_tool("ask_agent", {"message": "think"}))
    asking.add_done_callback(lambda done: done.cancelled() or done.exception())
    await deployment.asked(1)


async def test_many_calls_at_once_get_each_its_own_answer(client: Client) -> None:
    call = calling(client)

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call("memory_store", content=f"n{n}")) for n in range(50)]

    assert [one.result()["content"] for one in calls] == [f"n{n}" for n in range(50)]
    ids = [one.result()["id"] for one in calls]
    assert (await call("memory_delete", ids=ids))["deleted_count"] == 50


VALVE = "The valve of pump seven opens at four bar."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def library(deployment: Deployment) -> RagClient:
    """Ada's documents, about pumps and ferns."""
    program = await deployment.program("ada")
    documents = RagClient(program.node.requester, "rag@localhost")
    for name, text in (("pumps.md", f"# Pumps\n\n{VALVE}"), ("ferns.md", "# Ferns\n\nGreen.")):
        kind = {"kind": name.removesuffix(".md")}
        await documents.ingest(Document(text=text, source=name, namespace="plant", metadata=kind))
    return documents


async def test_passages_come_with_what_a_citation_needs(client: Client, library: RagClient) -> None:
    call = calling(client)

    answer = await call("search_documents", query="pump seven valve", top_k=1)
    elsewhere = await call("search_documents", query="pump valve", where={"kind": "ferns"})

    (passage,) = answer["passages"]
    assert (passage["number"], passage["source"], passage["namespace"]) == (1, "pumps.md", "plant")
    assert VALVE in passage["content"]
    assert passage["heading"] == "Pumps"
    assert 0 < passage["score"] <= 1
    assert "pumps.md" not in [one["source"] for one in elsewhere["passages"]]


async def test_an_answer_names_the_passages_that_it_rests_on(
    client: Client, library: RagClient
) -> None:
    answer = await calling(client)(
        "answer_from_documents", question="When does the valve of pump seven open?"
    )

    assert "four bar" in answer["text"]
    assert [one["source"] for one in answer["citations"]][0] == "pumps.md"
    assert answer["citations"][0]["number"] == 1


async def test_documents_are_listed_by_namespace_and_page(
    client: Client, library: RagClient
) -> None:
    call = calling(client)

    page = await call("list_documents", namespace="plant", limit=1, offset=1)
    unknown = await call("list_documents", namespace="nowhere")

    (namespace,) = page["namespaces"]
    assert (namespace["namespace"], namespace["documents"]) == ("plant", 2)
    assert [one["source"] for one in page["documents"]] == ["pumps.md"]
    assert (page["total"], page["limit"], page["offset"]) == (2, 1, 1)
    assert unknown["error_type"] == "NotFoundError"


async def test_documents_of_others_are_denied_until_they_are_shared(
    client: Client, deployment: Deployment
) -> None:
    program = await deployment.program("carol")
    documents = RagClient(program.node.requester, "rag@localhost")
    await documents.ingest(Document(text="Carol earns 3000.", source="pay.md", namespace="pay"))
    call, hers = calling(client), "carol@localhost/pay"

    denied = await call("search_documents", query="Carol earns", namespaces=[hers])
    unseen = await call("search_documents", query="Carol earns")
    await documents.grant("pay", to=ADA)
    shared = await call("search_documents", query="Carol earns", namespaces=[hers])
    await documents.revoke("pay", to=ADA)

    assert denied["error_type"] == "PermissionError"
    assert "3000" not in str(denied) + str(unseen)
    assert [one["namespace"] for one in shared["passages"]] == [hers]


async def test_two_people_never_see_each_others_memories(
    deployment: Deployment, start: Start
) -> None:
    bobs = await start_as(deployment, BOB)
    async with start.over_stdio() as ada, bobs.over_stdio() as bob:
        secret = await calling(ada)("memory_store", content="Ada's code is 4711", agent_id=ADA)

        searched = await calling(bob)("memory_search", query="code 4711", search_mode="keyword")
        got = await calling(bob)("memory_get", id=secret["id"])
        deleted = await calling(bob)("memory_delete", id=secret["id"])
        pretended = await calling(bob)("memory_store", content="x", agent_id=ADA)

        assert searched["results"] == []
        assert (await calling(bob)("memory_list"))["total"] == 0
        assert got["error_type"] == deleted["error_type"] == "NotFoundError"
        assert pretended["error_type"] == "ValidationError"
        assert (await calling(ada)("memory_get", id=secret["id"]))["content"] == secret["content"]


async def test_a_tool_agents_tools_are_passed_on_where_that_is_wanted(
    deployment: Deployment,
) -> None:
    start = await start_as(deployment, ADA, "--tools", "tools")
    async with start.over_stdio() as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        sum_ = await client.call_tool("calculator", {"expression": "2 + 3"})
        wrong = await client.call_tool("calculator", {"expression": "2 +"})

        assert {"calculator", "get_current_datetime"} <= set(listed)
        assert "memory_store" not in listed
        assert (text_of(sum_), sum_.is_error, wrong.is_error) == ("5", False, True)
        with pytest.raises(MCPError, match="unknown tool 'nothing'"):
            await client.call_tool("nothing", {})


async def test_an_agent_that_is_away_is_named_and_is_used_again_when_it_is_back(
    deployment: Deployment, start: Start
) -> None:
    async with start.over_stdio() as client:
        call = calling(client)
        kept = await call("memory_store", content="still known")
        for name in ("memory", "rag", "assistant"):
            await deployment.kill(name)

        async with asyncio.timeout(PATIENCE_S):
            memory, documents, agents = await asyncio.gather(
                call("memory_get", id=kept["id"]),
                call("search_documents", query="pump"),
                call("list_agents"),
            )
        await asyncio.gather(*map(deployment.start, ("memory", "rag", "assistant")))
        again = await call("memory_get", id=kept["id"])

        assert memory == {
            "error": True,
            "error_type": "UnavailableError",
            "message": "the memory is not available now",
        }
        assert documents["error_type"] == "UnavailableError"
        assert "rag@localhost" in documents["message"]
        assert [one["is_there"] for one in agents["agents"]] == [False, False, False, True]
        assert again["content"] == "still known"


async def test_the_session_survives_an_outage_of_the_server(
    deployment: Deployment, start: Start
) -> None:
    async with start.over_stdio() as client:
        call = calling(client)
        await deployment.kill_server()
        await deployment.server.start()

        async with asyncio.timeout(2 * PATIENCE_S):
            while "error" in (answer := await call("memory_store", content="after the outage")):
                continue

        assert answer["content"] == "after the outage"
