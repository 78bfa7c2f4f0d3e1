"""What the Agent Lab API §5 asks of a session, of any memory near or far. `store` is a fixture."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments
from spade_llm.core.text import estimate_tokens
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.retrieval import retrieve_memory
from spade_llm.memory.sessions import (
    search_sessions,
    session_context,
    session_history,
    session_statistics,
)
from spade_llm.search.memory_query import Category, MemoryQuery, MemoryType

if TYPE_CHECKING:
    from spade_llm.memory import OwnedMemory

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
ANA = "ana@localhost"


def _said(number: int, text: str) -> ObservedMessage:
    role = "assistant" if number % 2 else "user"
    at = AT + timedelta(minutes=number)
    return ObservedMessage(id=str(number), role=role, content=text, at=at)


@pytest.fixture
async def session(store: OwnedMemory) -> OwnedMemory:
    """Two messages, a fact of the session, one of another, and a preference from elsewhere."""
    await store.observe("s", [_said(0, "Hello\n## Hechos Clave"), _said(1, "Hi Ana")], subject=ANA)
    fact = MemoryDraft(content="Ana lives in Lisbon", category=Category.FACT)
    await store.add(_of(fact, session="s"))
    await store.add(MemoryDraft(content="Rex barks", category=Category.FACT, session="other"))
    taste = MemoryDraft(content="Ana likes tea", category=Category.PREFERENCE)
    await store.add(_of(taste, session="other"))
    return store


def _of(draft: MemoryDraft, *, session: str) -> MemoryDraft:
    return MemoryDraft(content=draft.content, category=draft.category, subject=ANA, session=session)


async def test_the_context_has_the_sections_of_the_specification(session: OwnedMemory) -> None:
    context = await session_context(session, "s")

    assert context.context_text == (
        "## Historial Reciente\n\n- user: Hello ## Hechos Clave\n- assistant: Hi Ana\n\n"
        "## Hechos Clave\n\n- Ana lives in Lisbon\n\n"
        "## Perfil del Usuario\n\n- Ana likes tea"
    )
    assert context.memory_types_included == (MemoryType.SEMANTIC, MemoryType.PROFILE)
    assert not context.truncated


async def test_only_the_types_that_are_asked_for_are_included(session: OwnedMemory) -> None:
    types = [MemoryType.PROFILE]
    context = await session_context(session, "s", types=types, subject=ANA, language="en")

    assert "## Recent History" in context.context_text
    assert "## Key Facts" not in context.context_text
    assert context.memory_types_included == (MemoryType.PROFILE,)


@pytest.mark.parametrize("max_tokens", [99, 8001])
async def test_a_budget_out_of_range_is_refused_by_name(
    store: OwnedMemory, max_tokens: int
) -> None:
    with pytest.raises(InvalidArguments, match="max_tokens must be 100 to 8000"):
        await session_context(store, "s", max_tokens=max_tokens)


async def test_an_unknown_session_is_empty(store: OwnedMemory) -> None:
    context = await session_context(store, "nobody")

    assert (context.context_text, context.token_count, context.truncated) == ("", 0, False)
    assert (await session_history(store, "nobody")).total_count == 0


async def test_history_has_the_latest_messages_and_says_how_many_there_are(
    session: OwnedMemory,
) -> None:
    history = await session_history(session, "s", limit=1)

    assert [message.content for message in history.messages] == ["Hi Ana"]
    assert history.total_count == 2


async def test_statistics_count_by_type(session: OwnedMemory) -> None:
    counts = await session_statistics(session, "s")

    assert (counts.messages, counts.semantic_facts, counts.profile_entries) == (2, 1, 0)
    assert counts.tokens == estimate_tokens("Hello\n## Hechos Clave" + "Hi Ana")


async def test_a_search_says_which_session_it_found(session: OwnedMemory) -> None:
    found = await search_sessions(session, "where does Ana live? Lisbon")
    nothing = await search_sessions(session, "Lisbon", session="other")

    assert found.results[0].content == "Ana lives in Lisbon"
    assert found.results[0].session_id == "s"
    assert "Ana lives in Lisbon" not in [hit.content for hit in nothing.results]


async def test_clearing_a_session_leaves_the_others(session: OwnedMemory) -> None:
    deleted = await session.forget_session("s")

    assert (deleted.messages, deleted.by_type) == (2, {MemoryType.SEMANTIC: 1})
    assert (await session_statistics(session, "s")).messages == 0
    assert (await session_statistics(session, "other")).semantic_facts == 1


async def test_cleared_messages_are_gone_and_what_is_remembered_stays(
    session: OwnedMemory, other_store: OwnedMemory
) -> None:
    await session.observe("t", [_said(2, "Elsewhere")], subject=ANA)

    assert await other_store.clear_messages(["s"]) == 0
    assert await session.clear_messages(["s", "s", "nobody"]) == 2

    assert await session.clear_messages(["s"]) == 0
    assert (await session_history(session, "s")).total_count == 0
    counts = await session_statistics(session, "s")
    assert (counts.messages, counts.semantic_facts) == (0, 1)
    query = MemoryQuery(text="hello Ana elsewhere", with_messages=True)
    found = {hit.entry.content for hit in (await session.search(query)).hits}
    assert "Elsewhere" in found
    assert not found & {"Hello\n## Hechos Clave", "Hi Ana"}
    await session.observe("s", [_said(4, "Again")], subject=ANA)
    assert [one.content for one in await session.history("s")] == ["Again"]
    assert (await session.clear_subject(ANA)).messages == 2


async def test_many_conversations_with_long_names_are_cleared_at_once(store: OwnedMemory) -> None:
    names = [f"{number}{'é' * 250}" for number in range(1000)]
    for name in (names[0], names[-1]):
        await store.observe(name, [_said(0, "Hello")])

    assert await store.clear_messages(names) == 2


async def test_clearing_a_subject_says_what_there_was(session: OwnedMemory) -> None:
    cleared = await session.clear_subject(ANA)

    assert cleared.messages == 2
    assert cleared.by_type == {MemoryType.SEMANTIC: 1, MemoryType.PROFILE: 1}
    assert (await session.stats()).by_type == {MemoryType.SEMANTIC: 1}


async def test_a_history_is_read_from_any_message_backwards(store: OwnedMemory) -> None:
    for number in range(10):
        await store.observe("s", [_said(number, str(number) * 30_000)])

    history = await session_history(store, "s", limit=7, before="9")

    assert [one.id for one in history.messages] == [str(number) for number in range(2, 9)]
    assert history.total_count == 10


async def test_messages_are_found_only_where_they_are_asked_for(session: OwnedMemory) -> None:
    without = await search_sessions(session, "hello", subject=ANA)
    found = await search_sessions(session, "hello", subject=ANA, with_messages=True)
    other = await search_sessions(session, "hello", subject="bob@localhost", with_messages=True)
    text = await retrieve_memory(session, "hello", detail_limit=5, with_messages=True)

    assert "Hello\n## Hechos Clave" not in [one.content for one in without.results]
    assert found.results[0].session_id == "s"
    assert other.results == ()
    assert "**Summary:** Hello ## Hechos Clave" in text
