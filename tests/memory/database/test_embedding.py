"""What the memory finds by meaning: vectors come after the acknowledgement, and are never lost."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, ObservedMessage, SearchOutcome
from spade_llm.memory.database import embedding
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.learning.novelty import KEY_MOMENT_SCORE
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import SearchResult
    from spade_llm.memory.database.backend import DatabaseMemoryBackend

OWNER = "ada@localhost"
PROMPTLY_S = 5.0
CATS = MemoryQuery(text="cats sleeping", mode=SearchMode.SEMANTIC)


class Telling(BagOfWords):
    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.is_asked.set()
        return await super().embed(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@asynccontextmanager
async def opened(path: Path, embedder: BagOfWords | None) -> AsyncIterator[SQLiteMemoryBackend]:
    async with SQLiteMemoryBackend(path, embedder=embedder) as backend:
        yield backend


async def wait_idle(backend: DatabaseMemoryBackend) -> None:
    async with asyncio.timeout(PROMPTLY_S):
        await backend.wait_idle()


async def add(store: OwnedMemory, *contents: str) -> list[str]:
    return [(await store.add(MemoryDraft(content=content))).id for content in contents]


def contents(found: SearchResult) -> list[str]:
    return [hit.entry.content for hit in found.hits]


async def test_a_memory_is_found_by_its_vector_soon_after_it_is_stored(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        await add(store, "The trains run late", "Cats are sleeping on the sofa")
        await wait_idle(backend)

        found = await store.search(CATS)

    assert found.outcome is SearchOutcome.OK
    assert contents(found)[0] == "Cats are sleeping on the sofa"


async def test_vectors_are_made_when_it_is_quiet(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "QUIET_PERIOD_S", 0.01)
    monkeypatch.setattr(embedding, "MAX_DELAY_S", 60.0)
    embedder = Telling()
    async with opened(path, embedder) as backend:
        await add(backend.for_owner(OWNER), "a cat sleeps")

        async with asyncio.timeout(PROMPTLY_S):
            await embedder.is_asked.wait()


@asynccontextmanager
async def one_row_without_vector(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, max_delay_s: float
) -> AsyncIterator[tuple[OwnedMemory, Telling]]:
    """A store with a row whose vector waits for quiet; the look for older rows is over."""
    monkeypatch.setattr(embedding, "QUIET_PERIOD_S", 60.0)
    monkeypatch.setattr(embedding, "MAX_DELAY_S", max_delay_s)
    embedder = Telling()
    async with opened(path, embedder) as backend:
        await wait_idle(backend)
        store = backend.for_owner(OWNER)
        await add(store, "a cat sleeps")
        yield store, embedder


async def test_searches_keep_vectors_waiting(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with one_row_without_vector(path, monkeypatch, max_delay_s=60.0) as (store, embedder):
        found = await store.search(MemoryQuery(text="cat", mode=SearchMode.KEYWORD))
        was_asked = embedder.is_asked.is_set()

    assert contents(found) == ["a cat sleeps"]
    assert not was_asked


async def test_searches_keep_vectors_waiting_no_longer_than_the_bound(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with one_row_without_vector(path, monkeypatch, max_delay_s=0.2) as (store, embedder):
        async with asyncio.timeout(PROMPTLY_S):
            while not embedder.is_asked.is_set():
                await store.search(MemoryQuery(text="cat", mode=SearchMode.KEYWORD))
                await asyncio.sleep(0)


async def test_who_waits_for_vectors_does_not_wait_for_quiet(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "QUIET_PERIOD_S", 60.0)
    monkeypatch.setattr(embedding, "MAX_DELAY_S", 60.0)
    embedder = Telling()
    async with opened(path, embedder) as backend:
        await add(backend.for_owner(OWNER), "a cat sleeps")

        await wait_idle(backend)

    assert embedder.is_asked.is_set()


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.HYBRID, SearchMode.RECALL])
async def test_while_the_embedder_is_away_words_find_it_and_it_says_so(
    path: Path, mode: SearchMode
) -> None:
    embedder = BagOfWords()
    embedder.is_away = True
    async with opened(path, embedder) as backend:
        store = backend.for_owner(OWNER)
        await add(store, "Cats are sleeping on the sofa")

        found = await store.search(MemoryQuery(text="cats sleeping", mode=mode))

    assert found.outcome is SearchOutcome.DEGRADED
    assert contents(found) == ["Cats are sleeping on the sofa"]


async def test_without_an_embedder_only_a_keyword_search_is_not_degraded(path: Path) -> None:
    async with opened(path, None) as backend:
        store = backend.for_owner(OWNER)
        await add(store, "Cats are sleeping on the sofa")

        by_words = await store.search(MemoryQuery(text="cats", mode=SearchMode.KEYWORD))
        by_both = await store.search(MemoryQuery(text="cats", mode=SearchMode.HYBRID))

    assert by_words.outcome is SearchOutcome.OK
    assert by_both.outcome is SearchOutcome.DEGRADED


async def test_what_was_stored_without_an_embedder_gets_its_vector_later(path: Path) -> None:
    async with opened(path, None) as backend:
        await add(backend.for_owner(OWNER), "Cats are sleeping on the sofa")

    async with opened(path, BagOfWords()) as backend:
        await wait_idle(backend)
        store = backend.for_owner(OWNER)

        found = await store.search(CATS)
        stats = await store.stats()

    assert found.outcome is SearchOutcome.OK
    assert contents(found) == ["Cats are sleeping on the sofa"]
    assert stats.without_vector == 0


async def test_messages_get_vectors_too(path: Path) -> None:
    message = ObservedMessage(
        id="m1", role="user", content="Cats are sleeping", at=datetime.now(UTC)
    )
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        await store.observe("talk", [message])
        await wait_idle(backend)

        found = await store.search(
            MemoryQuery(text="cats sleeping", mode=SearchMode.SEMANTIC, with_messages=True)
        )

    assert contents(found) == ["Cats are sleeping"]


async def test_a_changed_text_is_found_by_its_new_vector_only(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        (id,) = await add(store, "Cats are sleeping on the sofa")
        await wait_idle(backend)
        await store.search(CATS)
        await store.update(MemoryChange(id=id, content="Trains run late"))
        await wait_idle(backend)

        found = await store.search(
            MemoryQuery(text="late trains run", mode=SearchMode.SEMANTIC, explain=True)
        )

    assert contents(found) == ["Trains run late"]
    why = found.hits[0].why
    assert why is not None and why.vector_score > 0.9


async def test_a_text_that_changes_while_it_is_embedded_gets_the_vector_of_the_new_one(
    path: Path,
) -> None:
    class Slow(BagOfWords):
        """Waits inside its first batch until it is told to go on."""

        def __init__(self) -> None:
            super().__init__()
            self.has_begun, self.may_go_on = asyncio.Event(), asyncio.Event()

        async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            vectors = await super().embed(texts)
            self.has_begun.set()
            await self.may_go_on.wait()
            return vectors

    embedder = Slow()
    async with opened(path, embedder) as backend:
        store = backend.for_owner(OWNER)
        (id,) = await add(store, "Cats are sleeping on the sofa")
        async with asyncio.timeout(PROMPTLY_S):
            await embedder.has_begun.wait()
        await store.update(MemoryChange(id=id, content="Trains run late"))
        embedder.may_go_on.set()
        await wait_idle(backend)

        found = await store.search(
            MemoryQuery(text="late trains run", mode=SearchMode.SEMANTIC, explain=True)
        )

    why = found.hits[0].why
    assert why is not None and why.vector_score > 0.9


async def test_what_is_forgotten_while_it_is_embedded_stays_forgotten(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        ids = await add(store, *(f"Cats are sleeping on sofa {number}" for number in range(40)))
        await store.forget(ids)
        await wait_idle(backend)

        found = await store.search(CATS)

    assert found.hits == ()


async def test_what_is_new_surprises_and_the_same_again_does_not(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        drafts = [
            MemoryDraft(content="Cats are sleeping on the sofa", subject="bob@localhost"),
            MemoryDraft(content="Cats are sleeping on the sofa!", subject="bob@localhost"),
            MemoryDraft(content="Trains run late", subject="bob@localhost"),
            MemoryDraft(content="Cats are sleeping on the sofa", subject="eve@localhost"),
            MemoryDraft(content="Cats sleep", subject="bob@localhost", surprise=0.25),
        ]
        for draft in drafts:
            await store.add(draft, merge=False)
            await wait_idle(backend)

        page = await store.list()

    first, again, new, of_eve, given = (entry.surprise or 0.0 for entry in reversed(page.entries))
    assert again < first == of_eve < new
    assert given == 0.25


async def test_memories_of_one_batch_are_known_to_those_behind_them(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        await store.add_many([MemoryDraft(content="Cats are sleeping")] * 3)
        await wait_idle(backend)

        page = await store.list()

    first, second, third = (entry.surprise or 0.0 for entry in reversed(page.entries))
    assert first > second > third


async def test_an_episode_is_as_novel_as_the_most_novel_in_it(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store, now = backend.for_owner(OWNER), datetime.now(UTC)
        routine = [f"Cats are sleeping on the sofa {number}" for number in range(6)]
        talks = [routine] * 4 + [[*routine, "Trains run late", "Snow lies everywhere"], routine]
        for day, lines in enumerate(talks):
            at = now - timedelta(days=9 - day)
            messages = [
                ObservedMessage(id=f"{number}", role="user", content=text, at=at)
                for number, text in enumerate(lines)
            ]
            await store.observe(f"c{day}", messages, subject="bob@localhost")
            await wait_idle(backend)
            await Learner(backend.learning(), backend).learn()
            await wait_idle(backend)

        page = await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)))

    *_, before, novel, after = (entry.surprise or 0.0 for entry in reversed(page.entries))
    assert novel >= KEY_MOMENT_SCORE > max(before, after)


async def test_an_episode_has_the_vector_of_its_messages_until_its_text_is_corrected(
    path: Path,
) -> None:
    embedder, episodes = BagOfWords(), MemoryFilter(types=(MemoryType.EPISODIC,))
    async with opened(path, embedder) as backend:
        store, at = backend.for_owner(OWNER), datetime.now(UTC) - timedelta(days=1)
        lines = ["Cats are sleeping on the sofa", "Dogs are barking in the yard"]
        messages = [
            ObservedMessage(id=f"{number}", role="user", content=text, at=at)
            for number, text in enumerate(lines)
        ]
        await store.observe("c", messages, subject="bob@localhost")
        await wait_idle(backend)
        await Learner(backend.learning(), backend).learn()
        await wait_idle(backend)

        assert embedder.embedded == len(lines)
        (hit,) = (await store.search(replace(CATS, which=episodes))).hits
        assert hit.score > 0.5

        await store.update_many([MemoryChange(id=hit.entry.id, content="Trains run late")])
        await wait_idle(backend)
        trains = MemoryQuery(text="trains", mode=SearchMode.SEMANTIC, which=episodes)
        (hit,) = (await store.search(trains)).hits

    assert hit.score > 0.5


async def test_an_owner_without_vectors_yet_is_asked_about_its_own_only(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        await add(backend.for_owner("eve@localhost"), "Cats are sleeping on the sofa")
        await wait_idle(backend)

        found = await backend.for_owner(OWNER).search(CATS)

    assert found.outcome is SearchOutcome.EMPTY


async def test_another_model_is_refused_until_the_memory_is_reindexed(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        await add(backend.for_owner(OWNER), "Cats are sleeping on the sofa", "Trains run late")
        await wait_idle(backend)
    other = BagOfWords(name="bag-of-words/2", dimension=64)

    with pytest.raises(ConfigurationError, match=r"bag-of-words/1.*reindex"):
        async with opened(path, other):
            pass

    progress: list[tuple[int, int]] = []
    async with SQLiteMemoryBackend(path, embedder=other, is_reindexing=True) as backend:
        await backend.reindex(lambda done, total: progress.append((done, total)))
    async with opened(path, other) as backend:
        found = await backend.for_owner(OWNER).search(CATS)

    assert progress[-1] == (2, 2)
    assert found.outcome is SearchOutcome.OK
    assert contents(found)[0] == "Cats are sleeping on the sofa"


async def test_similar_memories_are_found_by_their_vectors(path: Path) -> None:
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        first, *_ = await add(
            store, "Cats are sleeping on the sofa", "Cats are sleeping", "Trains run late"
        )
        await wait_idle(backend)

        found = await store.similar(first, min_score=0.5)

    assert contents(found) == ["Cats are sleeping"]


async def test_as_of_and_filters_hold_for_vectors_too(path: Path) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    async with opened(path, BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="Cats are sleeping", tags=("pets",)))
        await store.add(MemoryDraft(content="Cats are sleeping here"))
        await wait_idle(backend)

        tagged = await store.search(
            MemoryQuery(text="cats", mode=SearchMode.SEMANTIC, which=MemoryFilter(tags=("pets",)))
        )
        before = await store.search(
            MemoryQuery(text="cats", mode=SearchMode.SEMANTIC, which=MemoryFilter(as_of=yesterday))
        )

    assert contents(tagged) == ["Cats are sleeping"]
    assert before.hits == ()
