"""Each part is killed, or cut off, under load: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from spade_llm.core.errors import RequestError, RequestFailed
from spade_llm.memory.contract import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import Category
from spade_llm.tools.remote import ToolsClient
from spade_llm.xmpp.stanzas.message_codec import CORRECTION
from tests.openai_server import Call, Hang, Say
from tests.processes.deployment import NAMES, Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from spade_llm.agents import ChatAgent

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

OUTAGE_S = 5.0
BACK_S = 10.0
DEADLINE_S = 30.0
PACE_S = 0.02
"""Between two requests of a load: it must last longer than the fault takes to begin."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path_factory.mktemp("deployment")) as running:
        yield running


class Load:
    """Requests that go on while something breaks; each must end, one way or another."""

    def __init__(self, ask: Callable[[int], Awaitable[str]], *, count: int) -> None:
        self._ask = ask
        self._count = count
        self._has_begun = asyncio.Event()
        self.answers: dict[int, str] = {}
        self.errors: dict[int, RequestError] = {}
        self._task = asyncio.create_task(self._run())

    async def begun(self) -> None:
        """Return when a tenth is answered and the rest is on its way."""
        await asyncio.wait_for(self._has_begun.wait(), DEADLINE_S)

    async def over(self) -> None:
        await asyncio.wait_for(self._task, 2 * DEADLINE_S)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._one(number))
                await asyncio.sleep(PACE_S)

    async def _one(self, number: int) -> None:
        try:
            self.answers[number] = await self._ask(number)
        except RequestError as error:
            self.errors[number] = error
        if len(self.answers) >= self._count // 10:
            self._has_begun.set()


def storing(program: ChatAgent, label: str) -> Callable[[int], Awaitable[str]]:
    memory = MemoryClient(program.node.requester, "memory@localhost", timeout_s=DEADLINE_S)

    async def store(number: int) -> str:
        draft = MemoryDraft(category=Category.FACT, content=f"{label} {number}")
        return (await memory.add(draft, key=f"{label}-{number}")).content

    return store


async def stored(program: ChatAgent) -> list[str]:
    """All that memory has of this program, sorted."""
    memory = MemoryClient(program.node.requester, "memory@localhost", timeout_s=DEADLINE_S)
    found: list[str] = []
    while page := (await memory.list(limit=200, offset=len(found))).entries:
        found += [entry.content for entry in page]
    return sorted(found)


def talking(program: ChatAgent) -> Callable[[int], Awaitable[str]]:
    async def say(number: int) -> str:
        reply = await program.say("assistant@localhost", f"n{number}", conversation_id=f"c{number}")
        return reply.text.partition("\n")[0]

    return say


def first_line(message: Any) -> str:
    """Without the note on who was missing: right after a fault somebody may be."""
    return str(message["body"]).partition("\n")[0]


def messages_of(request: dict[str, object]) -> list[dict[str, object]]:
    messages = request["messages"]
    assert isinstance(messages, list)
    return messages


async def all_are_back(program: ChatAgent, *, within_s: float) -> None:
    async with asyncio.timeout(within_s):
        await asyncio.gather(
            *(program.status(f"{name}@localhost", timeout_s=within_s) for name in NAMES)
        )


async def test_memory_killed_while_it_stores_has_everything_once(deployment: Deployment) -> None:
    program = await deployment.program("storing")
    load = Load(storing(program, "killed"), count=200)
    await load.begun()

    await deployment.kill("memory")
    await deployment.start("memory")
    await load.over()

    assert load.errors == {}
    assert await stored(program) == sorted(f"killed {n}" for n in range(200))


async def test_tools_killed_while_they_run_never_run_twice(deployment: Deployment) -> None:
    program = await deployment.program("calling")
    tools = ToolsClient(program.node.requester, "tools@localhost", timeout_s=DEADLINE_S)

    async def add(number: int) -> str:
        return (await tools.call("calculator", {"expression": f"{number} + 1"})).text

    load = Load(add, count=200)
    await load.begun()
    await deployment.kill("tools")
    await deployment.start("tools")
    await load.over()

    for number, text in load.answers.items():
        assert str(number + 1) in text
    for error in load.errors.values():
        assert isinstance(error, RequestFailed)
        assert error.wire_code == "interrupted"
    assert len(load.answers) + len(load.errors) == 200


async def test_documents_killed_while_they_are_read_are_there_once(deployment: Deployment) -> None:
    program = await deployment.program("reading")
    rag = RagClient(program.node.requester, "rag@localhost", timeout_s=DEADLINE_S)

    async def ingest(number: int) -> str:
        text = f"The code of door{number} is secret{number}."
        return (await rag.ingest(Document(text=text, source=f"door{number}.md"))).source

    load = Load(ingest, count=40)
    await load.begun()
    await deployment.kill("rag")
    await deployment.start("rag")
    await load.over()

    assert load.errors == {}
    for number in range(40):
        found = (await rag.retrieve(f"door{number}", k=20)).chunks
        assert [one.chunk.source for one in found].count(f"door{number}.md") == 1


async def test_an_assistant_killed_under_load_answers_every_message(deployment: Deployment) -> None:
    program = await deployment.program("talking")
    deployment.model.delay_s = 0.3
    load = Load(talking(program), count=100)
    await load.begun()

    await deployment.kill("assistant")
    await deployment.start("assistant")
    await load.over()
    deployment.model.delay_s = 0.0

    assert load.errors == {}
    assert load.answers == {n: f"You said: n{n}" for n in range(100)}


async def test_a_turn_interrupted_by_a_kill_is_answered_once(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("ada")
    deployment.model.delay_s = 2.0
    ada.send("assistant@localhost", "are you there?")
    await deployment.asked(1)

    await deployment.kill("assistant")
    deployment.model.delay_s = 0.0
    await deployment.start("assistant")
    answer = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)
    ada.send("assistant@localhost", "and now?")
    second = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)

    assert first_line(answer) == "You said: are you there?"
    assert first_line(second) == "You said: and now?"


async def test_an_answer_that_grows_stays_in_its_bubble_when_its_assistant_dies(
    deployment: Deployment,
) -> None:
    greta = await deployment.person("greta")
    greta.shows_corrections("Dino")
    deployment.model.enqueue(Hang(after="Once"), Say(text="Once upon a time"))
    greta.send("assistant@localhost", "a story")
    bubble = await asyncio.wait_for(greta.messages.get(), DEADLINE_S)

    await deployment.kill("assistant")
    await deployment.start("assistant")
    answer = await asyncio.wait_for(greta.messages.get(), DEADLINE_S)

    assert (bubble["body"], answer["body"]) == ("Once", "Once upon a time")
    replaced = answer.xml.find(f"{{{CORRECTION}}}replace")
    assert replaced is not None
    assert replaced.get("id") == bubble["id"]


async def test_a_conversation_killed_in_the_middle_goes_on_with_all_that_was_answered(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("long-ada")
    answers: set[str] = set()

    async def talk(begin: int, end: int) -> None:
        for number in range(begin, end):
            ada.send("assistant@localhost", f"turn {number}")
            await new_answer()

    async def new_answer() -> None:
        """One that leaves in the moment of the kill may come twice, with one id."""
        known = len(answers)
        while len(answers) == known:
            answers.add((await asyncio.wait_for(ada.messages.get(), DEADLINE_S))["id"])

    await talk(0, 70)
    await deployment.kill("assistant")
    await deployment.start("assistant")
    await talk(70, 140)

    (request,) = list(deployment.model.requests)[-1:]
    read = [str(message["content"]) for message in messages_of(request)]
    assert [text for text in read if text.startswith("turn ")] == [f"turn {n}" for n in range(140)]


async def test_memories_stored_before_a_kill_are_not_stored_again(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("storing-ada")
    store = Call(
        name="store_memory",
        arguments='{"category": "fact", "content": "The cat is grey"}',
    )
    deployment.model.enqueue(Say(calls=(store,)), Hang())
    ada.send("assistant@localhost", "my cat is grey")
    await deployment.asked(2)

    await deployment.kill("assistant")
    deployment.model.enqueue(Say(calls=(store,)))
    await deployment.start("assistant")
    await asyncio.wait_for(ada.messages.get(), DEADLINE_S)

    ada.send("assistant@localhost", "/memories cat")
    listed = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)
    assert str(listed["body"]).count("The cat is grey") == 1


async def test_an_answer_that_left_on_a_dead_line_comes_when_the_line_is_back(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("ada-on-the-phone")
    deployment.model.delay_s = 0.3  # too short for a typing state
    ada.send("assistant@localhost", "are you there?")
    await deployment.asked(1)
    deployment.line.hold()
    await asyncio.wait_for(deployment.line.holds_something.wait(), DEADLINE_S)
    deployment.model.delay_s = 0.0

    deployment.line.cut()
    deployment.line.let_go()
    answer = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)
    ada.send("assistant@localhost", "and now?")
    second = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)

    assert first_line(answer) == "You said: are you there?"
    assert first_line(second) == "You said: and now?"


async def test_a_server_killed_for_five_seconds_loses_nothing(deployment: Deployment) -> None:
    program = await deployment.program("patient")
    loads = [
        Load(storing(program, "outage"), count=200),
        Load(talking(program), count=100),
    ]
    for load in loads:
        await load.begun()

    await deployment.kill_server()
    await asyncio.sleep(OUTAGE_S)  # the fault itself lasts so long
    await deployment.server.start()
    await all_are_back(program, within_s=BACK_S)
    for load in loads:
        await load.over()

    assert [load.errors for load in loads] == [{}, {}]
    assert await stored(program) == sorted(f"outage {n}" for n in range(200))
    assert loads[1].answers == {n: f"You said: n{n}" for n in range(100)}


async def test_lines_cut_under_load_lose_nothing(deployment: Deployment) -> None:
    program = await deployment.program("cut")
    loads = [Load(storing(program, "cut"), count=200), Load(talking(program), count=100)]
    for load in loads:
        await load.begun()

    deployment.line.cut()
    await all_are_back(program, within_s=BACK_S)
    deployment.line.cut()
    for load in loads:
        await load.over()

    assert [load.errors for load in loads] == [{}, {}]
    assert await stored(program) == sorted(f"cut {n}" for n in range(200))
    assert loads[1].answers == {n: f"You said: n{n}" for n in range(100)}


async def test_lines_held_for_a_while_lose_nothing(deployment: Deployment) -> None:
    program = await deployment.program("held")
    load = Load(storing(program, "held"), count=200)
    await load.begun()

    deployment.line.hold()
    await asyncio.sleep(OUTAGE_S)  # the fault itself lasts so long
    deployment.line.let_go()
    await load.over()

    assert load.errors == {}
    assert await stored(program) == sorted(f"held {n}" for n in range(200))


async def test_a_thousand_messages_of_twenty_people_are_answered_once_and_in_order(
    deployment: Deployment,
) -> None:
    people = [await deployment.person(f"person{n}") for n in range(20)]
    for number in range(50):
        for person in people:
            person.send("assistant@localhost", f"n{number}")

    expected = [f"You said: n{number}" for number in range(50)]
    for person in people:
        async with asyncio.timeout(60):
            answers = [str((await person.messages.get())["body"]) for _ in range(50)]
        assert answers == expected
    assert [person.waiting() for person in people] == [[]] * 20
