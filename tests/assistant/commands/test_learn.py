"""`/learn`: a person says whether their conversations are compared, and sees what came of it."""

from __future__ import annotations

import pytest

from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.learning.learning_contract import FactPair, ReflectionChanges
from spade_llm.providers import ScriptedProvider
from tests.assistant.turn.test_turn_failures import an_assistant, an_utterance
from tests.memory.talks import ANA, learn, talk


async def test_a_person_allows_it_sees_it_asks_where_from_and_ends_it() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        store = backend.for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(ScriptedProvider([]), memory)

        async def say(text: str) -> str:
            return (await assistant.answer(an_utterance(text, peer=ANA))).text

        assert (await say("/learn")).startswith("I do not compare")
        for day in range(3):
            await talk(store, ["we fly to Lisbon"], day=day)
        await learn(backend)
        assert "Lisbon" not in await say("/memories often")

        assert "removes it" in await say("/learn on")
        assert "nothing in common yet" in await say("/learn status")
        await learn(backend)
        status = await say("/learn")
        line = status.splitlines()[1]
        assert " The user often talks about Lisbon." in line
        assert line.endswith("(in 3 of 3 conversations, 2026-03-01 to 2026-03-03)")
        assert "often talks about Lisbon" in await say("/memories")

        where = await say(f"/learn {line.split()[0]}")
        assert [one[:12] for one in where.splitlines()[2:]] == [
            "- 2026-03-01",
            "- 2026-03-02",
            "- 2026-03-03",
        ]
        assert "There is nothing" in await say("/learn ffff0000")

        assert "removed" in await say("/learn off")
        assert (await say("/learn")).startswith("I do not compare")
        assert "often talks about Lisbon" not in await say("/memories")


async def test_a_person_sees_what_a_reflection_changed_and_undoes_it() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        store = backend.for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(ScriptedProvider([]), memory)

        async def say(text: str, peer: str = ANA) -> str:
            return (await assistant.answer(an_utterance(text, peer=peer))).text

        assert (await say("/learned")).startswith("I have not changed")
        assert (await say("/aprendido")).startswith("No he cambiado")
        await say("/learn on")
        facts = [
            await store.add(MemoryDraft(content=text, subject=ANA))
            for text in ("The user lives in Madrid", "The user lives in Valencia", "x")
        ]
        material = await backend.learning().next_reflection(runs_per_day=1)
        assert material is not None
        pair = FactPair(changed=facts[0], kept=facts[1])
        await backend.learning().save_reflection(material, ReflectionChanges(closed=(pair,)))

        listed = (await say("/learned")).splitlines()
        assert listed[1].startswith("1. ")
        assert "no longer true: “The user lives in Madrid”, because of “The user lives" in listed[1]
        assert "Madrid" not in await say("/learned", "bob@x")
        assert "ya no es cierto" in await say("/aprendido")
        assert "no such number" in await say("/learned undo 2")
        assert "no such number" in await say("/learned undo 1", "bob@x")
        assert "(no longer true" in await say("/memories")

        assert (await say("/aprendido deshacer 1")).startswith("Deshecho: ")
        assert "(no longer true" not in await say("/memories")
        assert "no such number" in await say("/learned undo 1")


@pytest.mark.parametrize("text", ["/learn", "/learn on", "/learned"])
async def test_without_a_memory_agent_there_is_nothing_to_learn(text: str) -> None:
    async with MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=outbox)

        reply = await an_assistant(ScriptedProvider([]), memory).answer(an_utterance(text))

    assert reply.text == "I have no memory agent."
