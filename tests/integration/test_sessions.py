"""What an assistant says of its sessions: each asker sees, searches and clears their own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.history.remote_sessions import SessionsClient
from spade_llm.core.errors import RequestError, RequestFailed, RequestRefused
from spade_llm.memory.contract import MemoryDraft, OnError
from spade_llm.messaging import PrincipalRequester
from spade_llm.providers import OfflineProvider
from spade_llm.search.memory_query import MemoryType, Origin
from tests.integration.gated_model import GatedModel
from tests.integration.network import PATIENCE_S, answer_to, eventually, jid_of
from tests.integration.test_recall import memory_of

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agents import ChatAgent, LLMAgent, MemoryAgent
    from spade_llm.providers.model import ChatModel
    from tests.integration.network import Network

ADA, BOB = "ada@principals", "bob@principals"


one_server = pytest.mark.parametrize("server", ["embedded"], indirect=True)
"""For what no server has a part in."""


class Asker:
    """A principal of a gateway, who talks with an assistant."""

    def __init__(self, gateway: ChatAgent, assistant: LLMAgent, principal: str) -> None:
        asks = PrincipalRequester(gateway.node.requester, principal)
        self.chat = ChatClient(asks, jid_of(assistant), timeout_s=PATIENCE_S)
        self.sessions = SessionsClient(asks, jid_of(assistant), timeout_s=PATIENCE_S)

    async def say(self, text: str, session: str = "s") -> str:
        return (await self.chat.say(text, conversation_id=session)).text

    async def said(self, session: str = "s") -> list[str]:
        history = await self.sessions.history(session)
        return [one.content for one in history.messages if one.role == "user"]


class House:
    """A gateway, a memory and an assistant with a model that can be made to wait."""

    def __init__(self, network: Network, model: ChatModel | None = None) -> None:
        self._network = network
        self.gated = GatedModel()
        self.model = model or self.gated

    async def start(self, *, has_memory: bool = True) -> House:
        self.gateway = await self._network.program("gateway")
        self._network.gateways = (jid_of(self.gateway),)
        self.memory = await self._network.memory() if has_memory else None
        services = Services(memory=jid_of(self.memory)) if self.memory else None
        self.assistant = await self._network.assistant(self.model, services=services)
        return self

    def asker(self, principal: str) -> Asker:
        return Asker(self.gateway, self.assistant, principal)


@pytest.fixture
async def house(network: Network) -> House:
    return await House(network).start()


def _bytes(*agents: LLMAgent | MemoryAgent | None) -> str:
    folders = [agent.options.data for agent in agents if agent and agent.options.data]
    return "".join(path.read_bytes().decode("latin-1") for one in folders for path in _files(one))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_recent_messages_are_visible_to_their_author_only(
    house: House,
) -> None:
    ada, bob = house.asker(ADA), house.asker(BOB)

    await ada.say("My boat is called Isolde")
    history = await ada.sessions.history("s")
    found = await ada.sessions.search("How is the boat called?")

    assert (history.session_id, history.total_count) == ("s", 2)
    assert history.messages[0].content == "My boat is called Isolde"
    assert found.results[0].session_id == "s"
    assert "Isolde" in await ada.sessions.retrieve("boat", detail_limit=5)
    assert (await ada.sessions.stats("s")).messages == 2
    assert "Isolde" in (await ada.sessions.context("s")).context_text
    spoken_of = await ada.sessions.memories(text="boat")
    assert {(one.origin, one.session) for one in spoken_of.entries} == {(Origin.TOLD, "s")}

    for name in ("s", f"{ADA}#s"):
        assert (await bob.sessions.history(name)).total_count == 0
        assert (await bob.sessions.context(name)).context_text == ""
        assert (await bob.sessions.search("boat", session=name)).results == ()
        assert (await bob.sessions.clear(name)).messages == 0
        assert await bob.sessions.clear_messages([name]) == 0
    assert (await bob.sessions.search("How is the boat called?")).results == ()
    assert "Isolde" not in await bob.sessions.retrieve("boat")
    assert (await ada.sessions.stats("s")).messages == 2


@one_server
async def test_memories_of_a_turn_belong_to_its_session(network: Network) -> None:
    ada = (await House(network, OfflineProvider()).start()).asker(ADA)

    await ada.say("remember that my boat lies in Porto")
    stats, found = await asyncio.gather(
        ada.sessions.stats("s"), ada.sessions.search("Where is the boat?", session="s")
    )
    asked, answered = (await ada.sessions.history("s")).messages

    assert (stats.messages, stats.semantic_facts) == (2, 1)
    assert "My boat lies in Porto" in [one.content for one in found.results]
    assert "## Hechos Clave\n\n- My boat" in (await ada.sessions.context("s")).context_text
    assert asked.at < answered.at
    assert (await ada.sessions.clear("s")).semantic_facts == 1
    assert (await ada.sessions.memories()).total == 0


async def test_people_list_correct_and_forget_memories_about_themselves(
    house: House,
) -> None:
    ada, bob = house.asker(ADA), house.asker(BOB)
    store = memory_of(house.assistant)
    tea = await store.add(MemoryDraft(content="Likes tea", subject=ADA, session=f"{ADA}#s"))
    drafts = [MemoryDraft(content=f"{n} {'x' * 20_000}", subject=ADA) for n in range(12)]
    await store.add_many(drafts, on_error=OnError.CONTINUE)

    page = await ada.sessions.memories(limit=1000)
    corrected = await ada.sessions.correct(tea.id, "Likes coffee")

    assert (len(page.entries), page.total) == (13, 13)
    assert (corrected.content, corrected.session) == ("Likes coffee", "s")
    assert (await ada.sessions.memories(session="s")).total == 1
    assert (await bob.sessions.memories()).total == 0
    assert (await bob.sessions.memories(text="coffee")).entries == ()
    with pytest.raises(RequestRefused, match="there is no memory") as refused:
        await bob.sessions.correct(tea.id, "Likes water")
    assert refused.value.wire_code == "not-found"
    assert await bob.sessions.forget([tea.id]) == 0
    assert await ada.sessions.forget([tea.id]) == 1
    assert "Likes coffee" not in _bytes(house.assistant, house.memory)


@one_server
async def test_a_long_history_comes_whole_in_several_messages(house: House) -> None:
    ada = house.asker(ADA)
    for number in range(5):
        await ada.say(f"{number} " + "x" * 25_000)

    history = await ada.sessions.history("s", limit=9)

    assert (len(history.messages), history.total_count) == (9, 10)
    assert [one.role for one in history.messages[:2]] == ["assistant", "user"]
    assert history.messages[-2].content.startswith("4 ")


async def test_a_person_has_one_memory_in_their_client_and_through_a_gateway(
    house: House, network: Network
) -> None:
    person = await network.person()
    ada = house.asker(person.bare)
    await answer_to(person, house.assistant, "My boat is called Isolde")

    found = await ada.sessions.search("How is the boat called?")

    assert found.results[0].session_id is None
    assert found.results[0].content == "My boat is called Isolde"


async def test_a_cleared_session_leaves_no_bytes_and_others_stay(house: House) -> None:
    ada = house.asker(ADA)
    await ada.say("The word is swordfish")
    await ada.say("The other word is lobster", "t")
    await ada.sessions.history("s")
    assert "swordfish" in _bytes(house.assistant)

    counts = await ada.sessions.clear("s")

    assert (counts.session_id, counts.messages) == ("s", 2)
    assert (await ada.sessions.history("s")).total_count == 0
    assert await ada.said("t") == ["The other word is lobster"]
    assert "swordfish" not in _bytes(house.assistant, house.memory)
    with pytest.raises(RequestRefused):
        await ada.chat.why(conversation_id="s")


@pytest.mark.parametrize("way", ["clear", "clear_messages", "forget_everything"])
async def test_a_turn_that_runs_meanwhile_writes_nothing_back(house: House, way: str) -> None:
    ada, bob = house.asker(ADA), house.asker(BOB)
    await ada.say("before")
    running = asyncio.create_task(ada.say("wait for swordfish"))
    others = asyncio.create_task(bob.say("wait"))
    async with asyncio.timeout(PATIENCE_S):
        await house.gated.was_asked.wait()

    ways = {
        "clear": lambda: ada.sessions.clear("s"),
        "clear_messages": lambda: ada.sessions.clear_messages(["t", "s"]),
        "forget_everything": ada.sessions.forget_everything,
    }
    await ways[way]()
    house.gated.gate.set()

    with pytest.raises(RequestFailed) as stopped:
        await running
    assert stopped.value.wire_code == "cancelled"
    assert await ada.said() == []
    assert "swordfish" not in _bytes(house.assistant)
    await ada.say("after")
    assert await ada.said() == ["after"]
    await others
    assert await bob.said() == ["wait"]


@one_server
async def test_messages_wait_while_a_session_is_cleared(house: House) -> None:
    ada = house.asker(ADA)
    await ada.say("before")

    async with house.assistant.llm_behaviour.locks.hold([f"{ADA}#s"]):
        clearing = asyncio.create_task(ada.sessions.clear("s"))
        saying = asyncio.create_task(ada.say("meanwhile"))
        await ada.say("elsewhere", "t")
        assert not saying.done()
    await clearing
    await asyncio.wait([saying])

    assert "before" not in await ada.said()


@pytest.mark.thorough
async def test_cleared_messages_are_still_learned_from_and_then_gone(house: House) -> None:
    ada = house.asker(ADA)
    await ada.say("I live in Lisbon")
    await ada.say("Good morning", "t")

    assert await ada.sessions.clear_messages(["s", "t", "nobody's"]) == 4

    assert await ada.said() == await ada.said("t") == []
    assert (await ada.sessions.stats("s")).messages == 0

    async def is_learned() -> bool:
        page = await ada.sessions.memories(types=[MemoryType.SEMANTIC])
        return any("Lisbon" in one.content for one in page.entries)

    await eventually(is_learned)
    found = await ada.sessions.search("Who lives in Lisbon?")
    assert found.results
    assert "role" not in found.results[0].metadata


async def test_everything_about_one_is_forgotten_and_counted(house: House) -> None:
    ada, bob = house.asker(ADA), house.asker(BOB)
    await ada.say("The word is swordfish")
    await ada.say("The word is swordfish", "t")
    await bob.say("The word is lobster")
    for subject in (ADA, BOB):
        await memory_of(house.assistant).add(MemoryDraft(content="Likes tea", subject=subject))

    cleared = await ada.sessions.forget_everything()

    with pytest.raises(RequestRefused):
        await ada.chat.why(conversation_id="t")
    assert (cleared.messages, dict(cleared.by_type)) == (4, {MemoryType.SEMANTIC: 2})
    assert await ada.said() == await ada.said("t") == []
    assert (await ada.sessions.memories()).total == 0
    assert "swordfish" not in _bytes(house.assistant, house.memory)
    assert await bob.said() == ["The word is lobster"]
    assert (await bob.sessions.memories()).total == 2


@pytest.mark.thorough
@one_server
async def test_while_memory_is_away_nothing_is_answered_in_its_place(house: House) -> None:
    ada = house.asker(ADA)
    await ada.say("before")
    assert house.memory is not None
    await house.memory.stop()

    failures = await asyncio.gather(
        ada.sessions.history("s"),
        ada.sessions.clear("s"),
        ada.sessions.forget_everything(),
        return_exceptions=True,
    )

    codes = [one.wire_code for one in failures if isinstance(one, RequestFailed)]
    assert codes == ["unavailable"] * 3


@one_server
async def test_fields_out_of_range_are_named(house: House) -> None:
    sessions = house.asker(ADA).sessions
    asked = {
        "limit": sessions.history("s", limit=1001),
        "session_id": sessions.stats(""),
        "max_tokens": sessions.context("s", max_tokens=99),
        "top_k": sessions.search("x", top_k=21),
        "offset": sessions.memories(offset=-1),
        "sessions": sessions.clear_messages([""]),
    }
    for field, question in asked.items():
        with pytest.raises(RequestRefused, match=field) as refused:
            await question
        assert refused.value.wire_code == "invalid-arguments"


@one_server
async def test_without_a_memory_only_what_was_said_is_there(network: Network) -> None:
    house = await House(network).start(has_memory=False)
    ada, bob = house.asker(ADA), house.asker(BOB)
    await ada.say("My boat is called Isolde")
    await ada.say("And my dog Tristan")

    history = await ada.sessions.history("s", limit=3)
    earlier = await ada.sessions.history("s", before=history.messages[0].id)

    assert [one.role for one in history.messages] == ["assistant", "user", "assistant"]
    assert [one.content for one in earlier.messages] == ["My boat is called Isolde"]
    assert (await ada.sessions.stats("s")).messages == history.total_count == 4
    assert "Isolde" in (await ada.sessions.context("s", language="en")).context_text
    assert (await bob.sessions.history("s")).total_count == 0
    for asked in (ada.sessions.search("boat"), ada.sessions.memories(), ada.sessions.forget([])):
        with pytest.raises(RequestError) as refused:
            await asked
        assert refused.value.wire_code == "not-offered"
    assert await bob.sessions.clear_messages(["s"]) == 0
    assert (await ada.sessions.clear("s")).messages == 4
    assert (await ada.sessions.history("s")).total_count == 0
