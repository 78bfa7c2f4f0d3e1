"""What holds for any text: it comes back as it was, and a query of it is never more than text."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import MemoryDraft, OwnedMemory, SQLiteMemoryBackend
from tests.conftest import at_most
from tests.memory.contract import hits, said

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
NOT_BLANK = UNICODE.filter(lambda text: bool(text.strip()))
TEXTS = st.lists(NOT_BLANK, min_size=1, max_size=10, unique=True)


def in_a_memory(test: Callable[[OwnedMemory], Awaitable[None]]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with SQLiteMemoryBackend(Path(folder) / "m.db") as backend:
                await test(backend.for_owner("a@localhost"))

    asyncio.run(run())


@settings(max_examples=at_most(40))
@given(TEXTS, UNICODE, st.lists(UNICODE.map(lambda text: text[:100]), max_size=5))
def test_any_text_comes_back_as_it_was(texts: list[str], context: str, tags: list[str]) -> None:
    async def check(store: OwnedMemory) -> None:
        for text in texts:
            await store.add(MemoryDraft(content=text, context=context, tags=tuple(tags)))
        await store.observe("c", [said(str(n), text) for n, text in enumerate(texts)])

        entries = (await store.list()).entries

        assert [entry.content for entry in entries] == texts[::-1]
        assert {(entry.context, entry.tags) for entry in entries} == {(context, tuple(tags))}
        assert [message.content for message in await store.history("c")] == texts

    in_a_memory(check)


@settings(max_examples=at_most(40))
@given(TEXTS, st.lists(UNICODE, max_size=10))
def test_any_query_is_answered_in_order_and_the_same_way_twice(
    texts: list[str], queries: list[str]
) -> None:
    async def check(store: OwnedMemory) -> None:
        for text in texts:
            await store.add(MemoryDraft(content=text))
        for query in (*queries, *texts):
            scores = [(hit.score, hit.entry.content) for hit in await hits(store, query)]
            again = [(hit.score, hit.entry.content) for hit in await hits(store, query)]

            assert all(0 <= score <= 1 for score, _ in scores)
            assert [score for score, _ in scores] == sorted((s for s, _ in scores), reverse=True)
            assert again == scores

    in_a_memory(check)


async def test_half_a_character_is_refused_by_field(store: OwnedMemory) -> None:
    with pytest.raises(InvalidArguments, match="content"):
        await store.add(MemoryDraft(content="\ud800"))
    with pytest.raises(InvalidArguments, match="subject"):
        await hits(store, "tea", "\ud800")
    with pytest.raises(InvalidArguments, match="text"):
        await hits(store, "\ud800")
