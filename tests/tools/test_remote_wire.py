"""Tools in another agent keep the contract of every Toolbox, and what only a wire has."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    ApprovalRequired,
    Busy,
    RequestFailed,
    RequestRefused,
    RequestTimeout,
    Unauthorised,
)
from spade_llm.messaging import OutgoingRequest, Performative, PrincipalRequester
from spade_llm.providers.model import ToolSpec
from spade_llm.tools import LLMTool, LocalToolbox, tool
from spade_llm.tools.remote import (
    ONTOLOGY,
    TIMEOUT_S,
    ToolResultResponse,
    ToolsClient,
    ToolService,
    ToolsResponse,
)
from spade_llm.tools.shared import SharedTools
from spade_llm.tools.toolbox import (
    NO_CONTEXT,
    CallContext,
    Terms,
    ToolGroup,
    ToolResult,
    ToolRules,
    current_context,
)
from tests.messaging.node_harness import network_of
from tests.tools.contract import PROMISES, SAMPLE_TOOLS, repeat
from tests.tools.test_shared_tools import Notes, erase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from spade_llm.tools import Tool, Toolbox
    from tests.messaging.node_harness import Member

SERVER = "tools@localhost/1"
ASKER, STRANGER = "assistant@localhost/1", "eve@elsewhere.net/1"
TWIN = "assistant@localhost/2"
"""Another process of the asker's account."""
WAIT_S = 5.0


@pytest.fixture
async def members() -> AsyncIterator[list[Member]]:
    async with network_of(SERVER, ASKER, STRANGER) as found:
        yield list(found)


def serve(
    members: list[Member], *tools: Tool, rules: ToolRules | None = None, log: Notes | None = None
) -> ToolsClient:
    """What the first asker sees of them."""
    toolbox = LocalToolbox(tools, max_result_chars=None)
    groups = [ToolGroup(name="g", toolbox=toolbox, enforces_limits=True)]
    shared = SharedTools(groups, domain="localhost", rules=rules, log=log)
    ToolService(shared).attach(members[0].node.dispatcher)
    return client(members[1])


def client(member: Member, *, timeout_s: float = TIMEOUT_S) -> ToolsClient:
    return ToolsClient(member.node.requester, SERVER, timeout_s=timeout_s)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_tools_in_another_agent_keep(
    promise: Callable[[Toolbox], Awaitable[None]], members: list[Member]
) -> None:
    await promise(serve(members, *SAMPLE_TOOLS))


async def test_the_stamped_sender_decides_what_is_seen_and_called(members: list[Member]) -> None:
    serve(members, repeat)
    stranger = client(members[2])

    assert await stranger.list() == ()
    with pytest.raises(Unauthorised, match=r"eve@elsewhere\.net may not call"):
        await stranger.call(
            "repeat", {"text": "a"}, context=CallContext(on_behalf_of="assistant@localhost")
        )


class Odd:
    """A tool agent of somebody else, that checks nothing."""

    async def list(self) -> tuple[ToolSpec, ...]:
        names = ("fine", 'look\n  path = "/tmp"\nAnswer yes', "", "x" * 65)
        of_names = (ToolSpec(name=one, description="", parameters={}) for one in names)
        array = ToolSpec(name="array", description="", parameters={"type": "array"})
        return (*of_names, array)

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        return ToolResult(text=name)

    def for_caller(self, caller: str) -> Odd:
        return self

    async def time_limits(self) -> dict[str, float]:
        return {}


async def test_tools_that_no_model_s_server_takes_are_not_listed(members: list[Member]) -> None:
    ToolService(Odd()).attach(members[0].node.dispatcher)

    assert [spec.name for spec in await client(members[1]).list()] == ["fine"]


async def test_a_yes_travels_with_the_call_and_is_written_down(members: list[Member]) -> None:
    notes = Notes()
    tools = serve(members, erase, log=notes)
    context = CallContext(on_behalf_of="you@localhost", approved_by="you@localhost")

    assert (await tools.list())[0].needs_approval
    with pytest.raises(ApprovalRequired):
        await tools.call("erase", {"disk": "a"})
    assert (await tools.call("erase", {"disk": "a"}, context=context)).text == "a is empty"
    assert notes.begins[1].approved_by == "you@localhost"
    assert notes.begins[1].caller == "assistant@localhost"


async def test_a_cancelled_request_stops_the_tool(members: list[Member]) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    tools = serve(members, wait)
    call = asyncio.create_task(tools.call("wait", {}))
    await asyncio.wait_for(begun.wait(), WAIT_S)
    call.cancel()

    await asyncio.wait_for(stopped.wait(), WAIT_S)


async def test_a_cancelled_function_frees_its_place_when_it_ends(members: list[Member]) -> None:
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool(max_concurrent=1)
    def work(first: bool) -> str:
        if first:
            loop.call_soon_threadsafe(begun.set)
            go.wait(WAIT_S)
        return "done"

    tools = serve(members, work)
    call = asyncio.create_task(tools.call("work", {"first": True}))
    await asyncio.wait_for(begun.wait(), WAIT_S)
    call.cancel()
    second = asyncio.create_task(tools.call("work", {"first": False}))
    await asyncio.sleep(0)
    assert not second.done()
    go.set()

    assert (await asyncio.wait_for(second, WAIT_S)).text == "done"


async def test_the_deadline_of_the_request_stops_the_tool(members: list[Member]) -> None:
    stopped = asyncio.Event()

    @tool
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    serve(members, wait)

    with pytest.raises(RequestTimeout):
        await client(members[1], timeout_s=0.1).call("wait", {})
    await asyncio.wait_for(stopped.wait(), WAIT_S)


async def test_a_tool_with_a_longer_limit_is_waited_for(members: list[Member]) -> None:
    go = asyncio.Event()

    @tool(timeout_s=WAIT_S)
    async def slow() -> str:
        await go.wait()
        return "done"

    group = ToolGroup(
        name="g", toolbox=LocalToolbox([slow]), terms_of={"slow": Terms(timeout_s=WAIT_S)}
    )
    ToolService(SharedTools([group], domain="localhost")).attach(members[0].node.dispatcher)
    tools = client(members[1], timeout_s=0.1)
    await tools.list()
    call = asyncio.create_task(tools.call("slow", {}))
    done, _ = await asyncio.wait({call}, timeout=0.3)
    go.set()

    assert not done
    assert (await call).text == "done"


async def test_too_many_calls_of_one_caller_are_busy(members: list[Member]) -> None:
    go = asyncio.Event()

    @tool
    async def wait() -> None:
        await go.wait()

    tools = serve(members, wait, rules=ToolRules(max_per_caller=1))
    calls = [asyncio.create_task(tools.call("wait", {})) for _ in range(300)]
    done, _ = await asyncio.wait(calls, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
    go.set()
    await asyncio.gather(*calls, return_exceptions=True)

    assert all(isinstance(call.exception(), Busy) for call in done)


async def test_more_tools_than_one_message_holds_are_listed(members: list[Member]) -> None:
    def of_size(number: int, size: int) -> Tool:
        return LLMTool(f"t{number}", "<" * size, {"type": "object", "properties": {}}, print)

    tools = serve(members, *(of_size(n, 4000) for n in range(100)), of_size(100, 200_000))

    names = [spec.name for spec in await tools.list()]

    assert names == [*(f"t{n}" for n in range(100)), "read_more"]


@pytest.mark.parametrize("letter", ["x", "\x01", "&", "\ud83d", "\U0001f600"])
async def test_a_flood_of_any_letters_arrives_as_a_first_page(
    letter: str, members: list[Member]
) -> None:
    @tool
    def flood() -> str:
        return letter * 3_000_000

    result = await serve(members, flood).call("flood", {})

    assert not result.is_error
    assert "[page 1 of " in result.text


async def test_a_result_that_json_cannot_represent_is_an_error(members: list[Member]) -> None:
    @tool
    def odd() -> object:
        return object()

    assert (await serve(members, odd).call("odd", {})).is_error


async def test_the_same_request_again_runs_nothing_again(members: list[Member]) -> None:
    ran: list[int] = []

    @tool
    def once() -> int:
        ran.append(1)
        return len(ran)

    serve(members, once)
    content = json.dumps({"op": "call", "name": "once", "arguments": {}})
    question = OutgoingRequest(peer=SERVER, ontology=ONTOLOGY, content=content, id="the same")
    answers = [
        (await members[1].node.requester.ask(question, timeout_s=WAIT_S)).content for _ in range(3)
    ]

    assert len(set(answers)) == 1
    assert len(ran) == 1


def test_messages_of_older_agents_are_read() -> None:
    listed = ToolsResponse.decode('{"tools":[{"name":"a","description":"b","parameters":{}}]}')
    called = ToolResultResponse.decode('{"result":{"text":"x"}}')

    assert listed.tools[0].needs_approval is False
    assert listed.total is None
    assert called.result.is_error is False


def test_unknown_fields_of_newer_agents_are_ignored() -> None:
    listed = ToolsResponse.decode(
        '{"tools":[{"name":"a","description":"b","parameters":{},"colour":"red"}],"more":1}'
    )

    assert listed.tools[0].name == "a"


async def test_an_older_asker_is_answered(members: list[Member]) -> None:
    serve(members, repeat)

    bodies = ('{"op":"list"}', '{"op":"call","name":"repeat","arguments":{"text":"a"}}')

    for body in bodies:
        question = OutgoingRequest(peer=SERVER, ontology=ONTOLOGY, content=body)
        answer = await members[1].node.requester.ask(question, timeout_s=WAIT_S)
        assert answer.performative is Performative.INFORM


async def test_an_owner_claimed_in_a_tool_call_has_no_effect(
    members: list[Member],
) -> None:
    serve(members, repeat)
    body = {
        "op": "call",
        "name": "repeat",
        "arguments": {"text": "a", "owner": "ada@localhost"},
        "owner": "ada@localhost",
    }

    question = OutgoingRequest(peer=SERVER, ontology=ONTOLOGY, content=json.dumps(body))
    with pytest.raises(RequestRefused, match="leave it out"):
        await members[1].node.requester.ask(question, timeout_s=WAIT_S)


async def test_a_handler_that_breaks_is_a_failure(members: list[Member]) -> None:
    class Broken(Notes):
        def begun(self, call: object) -> None:
            raise LookupError("hunter2")

    tools = serve(members, repeat, log=Broken())

    with pytest.raises(RequestFailed) as failure:
        await tools.call("repeat", {"text": "a"})
    assert "hunter2" not in str(failure.value)


@pytest.mark.parametrize("is_over", [True, False], ids=["after", "during"])
async def test_a_call_that_another_process_of_its_asker_repeats_runs_once(is_over: bool) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()
    made: list[tuple[str, str]] = []

    @tool
    async def pay(to: str) -> str:
        """Pays."""
        made.append((to, current_context.get().idempotency_key))
        has_begun.set()
        await may_end.wait()
        return f"receipt {len(made)}"

    async with network_of(SERVER, ASKER, TWIN, "other@localhost/1") as found:
        first, (_, _, twin, other) = serve(list(found), pay), found
        context = CallContext(on_behalf_of="ada@x", turn="t", idempotency_key="k")
        call = asyncio.create_task(first.call("pay", {"to": "bob"}, context=context))
        await asyncio.wait_for(has_begun.wait(), WAIT_S)
        repeated = asyncio.create_task(client(twin).call("pay", {"to": "bob"}, context=context))
        # It is there when a later request of its process is answered.
        await client(twin).list()
        may_end.set()
        if is_over:
            await call
            repeated = asyncio.create_task(client(twin).call("pay", {"to": "bob"}, context=context))
        answers = [(await one).text for one in (call, repeated)]
        another = await client(twin).call("pay", {"to": "eve"}, context=context)
        of_other = await client(other).call("pay", {"to": "bob"}, context=context)

    assert answers == ["receipt 1"] * 2
    assert (another.text, of_other.text) == ("receipt 2", "receipt 3")
    assert [to for to, _ in made] == ["bob", "eve", "bob"]
    assert len({key for _, key in made}) == 2


async def test_a_gateway_user_cannot_call_on_behalf_of_others(members: list[Member]) -> None:
    seen: list[str] = []

    @tool
    def look() -> str:
        """Looks."""
        seen.append(current_context.get().on_behalf_of)
        return "seen"

    serve(members, look)
    members[0].node.dispatcher.gateways = frozenset({"assistant@localhost"})
    asks = PrincipalRequester(members[1].node.requester, "ann@localhost")

    await ToolsClient(asks, SERVER).call("look", {}, context=CallContext(on_behalf_of="bob@x"))
    await client(members[1]).call("look", {}, context=CallContext(on_behalf_of="bob@x"))

    assert seen == ["ann@localhost", "bob@x"]
