"""Fact revision: what a message says is outdated is closed before the turn."""

from __future__ import annotations

from spade_llm.assistant.turn.fact_revision import close, find_replaced
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryDraft

ANA = "ana@x"


async def test_a_change_closes_the_old_fact_of_this_person_only() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        memory = backend.for_owner("a@x")
        ids = [
            (await memory.add(MemoryDraft(content=text, subject=subject))).id
            for text, subject in (
                ("I live in Madrid", ANA),
                ("The user lives in Madrid.", ANA),
                ("My sister lives in Madrid", ANA),
                ("I live in Madrid", "bob@x"),
            )
        ]

        text = "I moved to Valencia last month"
        closed = await close(memory, await find_replaced(memory, text, (), subject=ANA))

        assert closed == set(ids[:2])
        assert {one.id for one in (await memory.list()).entries} == set(ids[2:])


async def test_a_correction_names_a_fact_of_another_conversation() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        memory = backend.for_owner("a@x")
        entry = await memory.add(MemoryDraft(content="My sister is called Ana", subject=ANA))

        found = await find_replaced(memory, "she's not called Ana, it's Anna", (), subject=ANA)

        assert found == (entry.id,)


async def test_questions_and_reports_close_nothing() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        memory = backend.for_owner("a@x")
        await memory.add(MemoryDraft(content="I live in Madrid", subject=ANA))

        for text in ("Do I live in Rome?", "Ana says she lives in Rome", "If I lived in Rome"):
            assert not await find_replaced(memory, text, (), subject=ANA)
