"""Two replicas of a library in PostgreSQL: what one writes the other finds, and nothing is lost."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from itertools import count, cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import psycopg
import pytest

from spade_llm.agents import AgentOptions, RAGAgent, RagOptions
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import (
    Busy,
    ConfigurationError,
    NotFound,
    StorageFailed,
    Unauthorised,
)
from spade_llm.core.postgres import PostgresServer
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.store import writer
from spade_llm.rag.store.postgres_library import PostgresLibrary, PostgresVectors
from spade_llm.rag.store.replica_locks import ReplicaLocks
from spade_llm.rag.store.vector_index import VectorCollection
from tests.rag.bag_of_words import BagOfWords
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase, Documents
from tests.rag.places import library_of
from tests.rag.test_reindexing import Held

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from spade_llm.providers.model import Embedder
    from spade_llm.rag import OwnedLibrary, Retrieval
    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.thorough
ANN, BOB = "ann@localhost", "bob@localhost"
PATIENCE_S = 30.0
TAKEOVER_S = 10.0
_agents = count(1)


def replica(
    postgres: PostgresProcess, agent: str, folder: Path, embedder: Embedder | None
) -> AbstractAsyncContextManager[DocumentLibrary]:
    return library_of(folder, embedder, url=postgres.url(), agent=agent)


@asynccontextmanager
async def replicas(
    postgres: PostgresProcess, folder: Path, *embedders: Embedder | None
) -> AsyncIterator[tuple[DocumentLibrary, DocumentLibrary]]:
    agent = f"rag-replicas{next(_agents)}@example.org"
    one, other = embedders or (BagOfWords(), BagOfWords())
    async with (
        replica(postgres, agent, folder, one) as first,
        replica(postgres, agent, folder, other) as second,
    ):
        yield first, second


class InTurns:
    """Documents of one owner, each call at the next replica."""

    def __init__(self, *views: OwnedLibrary) -> None:
        self._views = cycle(views)

    def __getattr__(self, name: str) -> Any:
        return getattr(next(self._views), name)


def of_owner(owner: str, libraries: tuple[DocumentLibrary, ...]) -> Documents:
    return cast("Documents", InTurns(*(one.for_owner(owner) for one in libraries)))


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_two_replicas_keep_what_one_library_does(
    promise: Callable[[LibraryCase], Awaitable[None]], postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with replicas(postgres, tmp_path) as both:
        case = LibraryCase(mine=of_owner(ANN, both), others=of_owner(BOB, both), root=tmp_path)
        await promise(case)


@pytest.mark.parametrize("promise", CATALOGUE_PROMISES, ids=lambda promise: promise.__name__)
async def test_two_replicas_keep_what_one_catalogue_does(
    promise: Callable[[CatalogueCase], Awaitable[None]], postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with replicas(postgres, tmp_path) as both:
        mine, others = of_owner(ANN, both), of_owner(BOB, both)
        await promise(CatalogueCase(mine=mine, others=others, mine_jid=ANN, others_jid=BOB))


def texts(found: Retrieval) -> list[str]:
    assert not found.degraded
    return [one.chunk.text for one in found.chunks]


async def test_vectors_in_ram_follow_what_other_replicas_store_and_delete(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with replicas(postgres, tmp_path) as (first, second):
        one, other = first.for_owner(ANN), second.for_owner(ANN)
        await one.ingest(Document(text="The tide turns at noon.", source="a"))
        # Both have the collection in RAM from here on.
        assert texts(await one.retrieve("tide")) == texts(await other.retrieve("tide"))

        await other.ingest(Document(text="Tides are high in March.", source="b"))
        await other.ingest(Document(text="The tide turns at dusk.", source="a"))
        found = texts(await one.retrieve("tide"))
        scores = [chunk.score for chunk in (await one.retrieve("tide")).chunks]
        expected = [chunk.score for chunk in (await other.retrieve("tide")).chunks]
        await other.delete(namespace="default", source="b")
        left = texts(await one.retrieve("tides", k=20))
        stats = await one.stats("default")

    assert set(found) == {"Tides are high in March.", "The tide turns at dusk."}
    # By cosine, not by keywords only.
    assert scores == expected
    assert left == ["The tide turns at dusk."]
    assert (stats.documents, stats.chunks, stats.vectors) == (1, 1, 1)


async def test_a_revocation_at_one_replica_holds_at_the_other_at_once(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with replicas(postgres, tmp_path) as (first, second):
        await first.for_owner(ANN).ingest(Document(text="The tide turns.", source="a"))
        await first.for_owner(ANN).grant("default", to=BOB)
        assert texts(await second.for_owner(BOB).retrieve("tide"))
        await first.for_owner(ANN).revoke("default", to=BOB)

        assert not (await second.for_owner(BOB).retrieve("tide")).chunks
        with pytest.raises(Unauthorised):
            await second.for_owner(BOB).stats(f"{ANN}/default")
        await first.for_owner(ANN).delete(namespace="default")
        with pytest.raises(NotFound):
            await second.for_owner(ANN).delete(namespace="default")


async def test_replicas_that_store_at_once_lose_no_vector_and_count_right(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with replicas(postgres, tmp_path) as both:
        owned = [one.for_owner(ANN) for one in both]

        async def store(number: int) -> None:
            for version in range(3):
                text = f"Lighthouse log {version} of zulu{number % 40}."
                source = f"{number % 40}.md"
                await owned[number % 2].ingest(Document(text=text, source=source))

        async def ask(library: OwnedLibrary) -> None:
            for number in range(30):
                found = await library.retrieve(f"lighthouse zulu{number}")
                assert not found.degraded

        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*map(store, range(80)), *map(ask, owned))
        for library in owned:
            async with asyncio.timeout(PATIENCE_S):
                # The last old vectors are removed behind the answer.
                while (stats := await library.stats("default")).vectors != 40:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert (stats.documents, stats.chunks) == (40, 40)
            for number in range(40):
                found = await library.retrieve(f"zulu{number}", k=1)
                assert texts(found) == [f"Lighthouse log 2 of zulu{number}."]


async def test_a_namespace_is_reindexed_by_one_replica_while_the_other_stores_and_searches(
    postgres: PostgresProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SWEEP_EVERY_S", 0.1)
    agent = f"rag-replicas{next(_agents)}@example.org"
    async with replica(postgres, agent, tmp_path, BagOfWords()) as library:
        for number in range(10):
            text = f"Lighthouse log of zulu{number}."
            await library.for_owner(ANN).ingest(Document(text=text, source=f"{number}.md"))
    slow, later = Held(), BagOfWords(name=Held().name, dimension=128)
    async with (
        replica(postgres, agent, tmp_path, slow) as first,
        replica(postgres, agent, tmp_path, later) as second,
        second.replica_jobs(),
        asyncio.timeout(PATIENCE_S),
    ):
        one, other = first.for_owner(ANN), second.for_owner(ANN)
        running = asyncio.create_task(one.reindex())
        await slow.is_asked.wait()
        with pytest.raises(Busy):
            await other.reindex()
        # Sweeps after it, which leave the new collection alone.
        await other.ingest(Document(text="Harbour log.", source="h", namespace="harbour"))
        await other.delete(namespace="default", source="3.md")
        found = await other.retrieve("lighthouse zulu7")
        assert found.chunks[0].chunk.source == "7.md"
        slow.may.set()
        assert await running == 10  # One of them was deleted meanwhile.
        assert not (await other.retrieve("lighthouse zulu7")).degraded
        stats = await other.stats("default")
        assert (stats.model, stats.chunks, stats.vectors) == (later.name, 9, 9)
        # The old collection is dropped by the replica that looks after all.
        select = f'SELECT count(*) FROM "{agent}".loose_collections'
        async with await psycopg.AsyncConnection.connect(
            postgres.url(), autocommit=True
        ) as session:
            while (await (await session.execute(select)).fetchone()) != (0,):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            vectors = f'SELECT count(*) FROM "{agent}".passage_vectors'
            assert await (await session.execute(vectors)).fetchone() == (10,)
        assert texts(await one.retrieve("lighthouse zulu7", k=1)) == ["Lighthouse log of zulu7."]


async def test_a_replica_that_lost_its_lock_writes_nothing_more(
    postgres: PostgresProcess,
) -> None:
    agent = f"rag-replicas{next(_agents)}@example.org"
    url = DatabaseUrl(postgres.url())
    async with (
        PostgresServer(url, agent=agent) as one,
        PostgresServer(url, agent=agent) as other,
    ):
        mine, its = ReplicaLocks(one), ReplicaLocks(other)
        async with PostgresLibrary(one, locks=mine) as library, PostgresLibrary(other, locks=its):
            async with mine.exclusive():
                async with library.transaction() as execute:
                    await execute.execute("SELECT 1")
                async with await psycopg.AsyncConnection.connect(postgres.url()) as session:
                    await session.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_locks"
                        " WHERE locktype = 'advisory' AND granted"
                    )
                async with its.exclusive():
                    pass
                with pytest.raises(StorageFailed, match="another replica changes the documents"):
                    async with library.transaction():
                        pass
            async with mine.exclusive(), library.transaction():
                pass


async def test_vectors_are_loaded_again_if_more_was_changed_than_is_noted(
    postgres: PostgresProcess,
) -> None:
    agent = f"rag-replicas{next(_agents)}@example.org"
    url = DatabaseUrl(postgres.url())
    vectors = np.eye(64, dtype=np.float32)
    collection = VectorCollection(
        namespace_id=1, owner=ANN, namespace="default", model="m", dimension=64
    )
    async with (
        PostgresServer(url, agent=agent) as one,
        PostgresServer(url, agent=agent) as other,
        PostgresLibrary(one, locks=ReplicaLocks(one)) as mine,
        PostgresLibrary(other, locks=ReplicaLocks(other)) as its,
    ):
        reading, writing = PostgresVectors(mine, replica="a"), PostgresVectors(its, replica="b")
        await writing.add(collection, [1, 2], vectors[:2])
        assert set(await reading.nearest(collection, vectors[0], 9)) == {1, 2}
        await writing.add(collection, [3], vectors[2:3])
        async with its.transaction() as execute:
            await execute.execute("DELETE FROM changed_vectors")
        await writing.remove(collection.key, [2])
        await reading.follow()
        assert set(await reading.nearest(collection, vectors[0], 9)) == {1, 3}
        await writing.drop(collection.key)
        await reading.follow()
        assert not await reading.nearest(collection, vectors[0], 9)
        await reading.close()
        await writing.close()


async def process(module: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"tests.rag.{module}", *arguments), stdout=asyncio.subprocess.PIPE
    )


async def lines_of(process: asyncio.subprocess.Process, count: int) -> None:
    """Return after so many further lines."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(count):
            assert await process.stdout.readline()


async def test_killed_replicas_leave_whole_documents_and_their_lock_to_the_others(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    agent = f"rag-replicas{next(_agents)}@example.org"

    async def started(name: str) -> asyncio.subprocess.Process:
        return await process("ingest_forever", str(tmp_path), postgres.url(), agent, name)

    async with replica(postgres, agent, tmp_path, BagOfWords()) as library:
        mine = library.for_owner(ANN)
        other = await started("other")
        for attempt in range(4):
            one = await started("one")
            # Both write by turns; the kill hits a different moment each time.
            await asyncio.gather(lines_of(one, 31 + 3 * attempt), lines_of(other, 30))
            one.kill()
            await one.communicate()
            async with asyncio.timeout(TAKEOVER_S):
                await mine.ingest(Document(text=f"Attempt {attempt}.", source="attempt"))
            found = await mine.retrieve("lighthouse zulu7", k=1)
            assert (found.degraded, found.chunks[0].chunk.source) == ("", "7.md")
        other.kill()
        await other.communicate()
        await mine.ingest(Document(text="The last.", source="attempt"))
        async with asyncio.timeout(PATIENCE_S):
            while (stats := await mine.stats("default")).vectors != 31:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        page = await mine.documents(limit=100)
        scores = [one.score for one in (await mine.retrieve("lighthouse", k=20)).chunks]
    async with replica(postgres, agent, tmp_path, BagOfWords()) as library:
        again = await library.for_owner(ANN).retrieve("lighthouse", k=20)

    assert (stats.documents, stats.chunks) == (31, 31)
    assert [one.chunks for one in page.documents] == [1] * 31
    # The vectors in RAM are those that are stored.
    assert [one.score for one in again.chunks] == scores


async def without_busy(call: Callable[[], Awaitable[int]]) -> int:
    """Repeat a call until it is not refused as busy."""
    async with asyncio.timeout(TAKEOVER_S):
        while True:
            with suppress(Busy):
                return await call()
            await asyncio.sleep(0.05)


async def test_a_reindexing_that_was_killed_is_done_by_another_replica_and_leaves_nothing(
    postgres: PostgresProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SWEEP_EVERY_S", 0.1)
    agent = f"rag-replicas{next(_agents)}@example.org"
    async with replica(postgres, agent, tmp_path, BagOfWords()) as library:
        await library.for_owner(ANN).ingest(Document(text="The tide turns.", source="a"))
    later = BagOfWords(name="bag-of-words/2", dimension=128)
    async with replica(postgres, agent, tmp_path, later) as library, library.replica_jobs():
        mine = library.for_owner(ANN)
        slow = await process("reindex_slowly", str(tmp_path), postgres.url(), agent)
        await lines_of(slow, 1)
        with pytest.raises(Busy):
            await mine.reindex()
        slow.kill()
        await slow.communicate()
        # The server may notice it a moment later.
        assert await without_busy(mine.reindex) == 1
        assert texts(await mine.retrieve("tide")) == ["The tide turns."]
        select = f'SELECT count(*) FROM "{agent}".passage_vectors'
        async with (
            await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True) as session,
            asyncio.timeout(PATIENCE_S),
        ):
            # The collections before and of the killed replica are gone.
            while await (await session.execute(select)).fetchone() != (1,):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert (await mine.stats("default")).model == later.name


def test_replicas_need_a_database_and_their_vectors_in_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="replicas share documents and vectors"):
        DocumentLibrary(tmp_path, embedder=None, is_replica=True)


@pytest.mark.parametrize("rag", [RagOptions(uses_files=True), RagOptions(chroma_url="http://x")])
def test_a_replica_with_documents_or_vectors_elsewhere_is_refused(
    rag: RagOptions, tmp_path: Path
) -> None:
    database = DatabaseUrl("postgresql://agents@localhost/agents")
    options = AgentOptions(data=tmp_path, database=database, is_replica=True)

    with pytest.raises(ConfigurationError, match=r"remove storage\.documents = .*chroma_url"):
        RAGAgent("rag@localhost", "", embedder=None, roots=[], options=options, rag=rag)
