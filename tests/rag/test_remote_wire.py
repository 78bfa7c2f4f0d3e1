"""What is said between a library and who asks it: sizes, progress, cancels, and who has to wait."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused, RequestTimeout
from spade_llm.messaging import MAX_BODY_BYTES, OutgoingRequest, Performative, new_id
from spade_llm.messaging.rpc import RpcClient
from spade_llm.providers import ScriptedProvider
from spade_llm.rag import Document, DocumentLibrary, Progress, RetrievalOptions, Splitting
from spade_llm.rag.remote import ONTOLOGY, RagClient, RagService
from spade_llm.rag.remote_endpoint import MAX_PER_QUEUE, IngestReport, ProgressPart
from tests.messaging.node_harness import PATIENCE_S, Member, network_of
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

RAG = "rag@localhost/1"
ANN = "ann@localhost"


class GatedWords(BagOfWords):
    """Stops before a text that has `gate` in it, until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = asyncio.Event()
        self.is_reached = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("gate" in text for text in texts):
            self.is_reached.set()
            await self.is_open.wait()
        return await super().embed(texts)


class Stage:
    """A library, who serves it, and two owners."""

    def __init__(self, root: Path, rag: Member, ann: Member, bob: Member) -> None:
        self.root, self.rag, self.ann_at, self.bob_at = root, rag, ann, bob
        self.ann = RagClient(ann.node.requester, RAG)
        self.bob = RagClient(bob.node.requester, RAG)
        self.words = GatedWords()

    def folder(self, name: str, **texts: str) -> None:
        (self.root / name).mkdir()
        for file, text in texts.items():
            (self.root / name / f"{file}.md").write_text(text)

    async def stopped(self) -> None:
        """Return when the agent has said that it stopped, within a second."""
        ann = self.ann_at
        async with asyncio.timeout(1):
            while ann.received[-1].performative is not Performative.FAILURE:
                ann.arrived.clear()
                await ann.arrived.wait()


@pytest.fixture
def only() -> tuple[str, ...]:
    return ()


@pytest.fixture
async def stage(tmp_path: Path, only: tuple[str, ...]) -> AsyncIterator[Stage]:
    root = tmp_path / "documents"
    root.mkdir()
    async with network_of(RAG, f"{ANN}/1", "bob@localhost/1") as members:
        stage = Stage(root, *members)
        library = DocumentLibrary(tmp_path / "data", embedder=stage.words, roots=[root])
        async with library:
            RagService(library, only=only).attach(members[0].node.dispatcher)
            yield stage
            stage.words.is_open.set()
            await members[0].node.close(patience_s=PATIENCE_S)


async def say(stage: Stage, **body: object) -> dict[str, object]:
    """One request in JSON as it stands, and its answer."""
    question = OutgoingRequest(peer=RAG, ontology=ONTOLOGY, content=json.dumps(body), id=new_id())
    answer = await stage.ann_at.node.requester.ask(question, timeout_s=PATIENCE_S)
    found: dict[str, object] = json.loads(answer.content)
    return found


@pytest.mark.parametrize("named", [{"namespace": "birds"}, {"namespaces": ["birds"]}])
async def test_requests_of_the_first_versions_are_understood(
    stage: Stage, named: dict[str, object]
) -> None:
    document = {"text": "Herons fish.", "source": "a.md", "namespace": "birds"}
    done = await say(stage, op="ingest", document=document)
    await say(stage, op="ingest", document={**document, "namespace": "art"})

    found = await say(stage, op="retrieve", query="herons", k=5, **named)

    assert (done["total"], len(done["documents"])) == (1, 1)  # type: ignore[arg-type]
    chunks = found["retrieval"]["chunks"]  # type: ignore[index]
    assert [one["chunk"]["namespace"] for one in chunks] == ["birds"]


@pytest.mark.parametrize("has_model", [True, False])
async def test_an_answer_comes_with_the_passages_that_it_rests_on(
    tmp_path: Path, has_model: bool
) -> None:
    model = ScriptedProvider(["Nine seconds [1]."]) if has_model else None
    async with (
        DocumentLibrary(tmp_path, embedder=BagOfWords()) as library,
        network_of(RAG, f"{ANN}/1") as (rag, ann),
    ):
        RagService(library, model=model).attach(rag.node.dispatcher)
        client = RagClient(ann.node.requester, RAG)
        text = "Hold the blue button for nine seconds."
        await client.ingest(Document(text=text, source="guide.md"))

        answer = await client.answer("For how long is the blue button held?")
        nothing = await client.answer("Whose zebra?", options=RetrievalOptions(min_score=0.99))

    assert (answer.text == "Nine seconds [1].") == has_model
    assert [(one.number, one.passage.chunk.text) for one in answer.citations] == [(1, text)]
    assert nothing.citations == ()


async def test_metadata_called_owner_may_be_asked_for(stage: Stage) -> None:
    options = RetrievalOptions(where={"owner": "harbour office"})

    await stage.ann.retrieve("tides", options=options)


async def test_a_long_ingest_agrees_tells_how_far_it_is_and_ends_with_its_figures(
    stage: Stage,
) -> None:
    stage.folder("many", **{f"n{number}": f"Heron {number}." for number in range(30)})
    (stage.root / "many" / "bad.md").write_bytes(b"caf\xe9")
    told: list[Progress] = []

    async def tell(progress: Progress) -> None:
        told.append(progress)

    first = await stage.ann.add_path("many", on_progress=tell)
    again = await stage.ann.add_path("many")

    assert stage.ann_at.received[0].performative is Performative.AGREE
    assert [one.done for one in told] == sorted({one.done for one in told})
    assert (told[-1].done, told[-1].total, told[-1].chunks) == (31, 31, 30)
    assert len(told) < 10
    assert (first.total, first.added, first.left_out, first.chunks) == (31, 30, 1, 30)
    assert first.documents[0].source == "many/bad.md"
    assert (again.added, again.unchanged) == (0, 30)


async def test_a_batch_too_large_for_one_answer_shows_first_what_was_left_out(
    stage: Stage,
) -> None:
    (stage.root / "odd").mkdir()
    for number in range(400):
        (stage.root / "odd" / f"{number}-{'x' * 180}.md").write_bytes(b"caf\xe9")
    (stage.root / "odd" / "good.md").write_text("Herons.")

    report = await stage.ann.add_path("odd")

    assert (report.total, report.left_out, report.added) == (401, 400, 1)
    assert 100 < len(report.documents) < 400
    assert all(one.left_out for one in report.documents)
    assert max(len(one.content) for one in stage.ann_at.received) <= MAX_BODY_BYTES


async def test_a_cancel_stops_it_within_a_second_and_what_is_done_stays_whole(
    stage: Stage,
) -> None:
    stage.folder("long", a="Herons fish at dawn.", b="Owls hunt.", c="The gate is shut.")
    asked = asyncio.create_task(stage.ann.add_path("long"))
    async with asyncio.timeout(PATIENCE_S):
        await stage.words.is_reached.wait()

    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await stage.stopped()

    found = await stage.ann.retrieve("herons owls", k=20)
    assert "long/c.md" not in {one.chunk.source for one in found.chunks}
    stage.words.is_open.set()
    report = await stage.ann.add_path("long")
    assert (report.added + report.unchanged, report.chunks) == (3, 3)


async def test_long_ingests_of_one_owner_wait_for_each_other_and_one_too_many_is_refused(
    stage: Stage,
) -> None:
    await stage.bob.ingest(Document(text="Owls hunt at midnight.", source="owls.md"))
    stage.folder("shut", a="The gate is shut.")
    waiting = [asyncio.create_task(stage.ann.add_path("shut")) for _ in range(MAX_PER_QUEUE)]
    async with asyncio.timeout(PATIENCE_S):
        await stage.words.is_reached.wait()
        await stage.ann_at.got(MAX_PER_QUEUE)

    with pytest.raises(RequestRefused) as refused:
        await stage.ann.add_path("shut")
    others = asyncio.create_task(stage.bob.add_path("shut"))
    found = await stage.bob.retrieve("owls midnight")
    stage.words.is_open.set()
    reports = await asyncio.gather(*waiting)

    assert refused.value.wire_code == "busy"
    assert ((await others).added, len(found.chunks)) == (1, 1)
    assert [one.unchanged for one in reports] == [0, 1, 1, 1]


async def test_signs_of_life_come_while_nothing_is_done(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.rag.remote_endpoint.HEARTBEAT_S", 0.01)
    stage.folder("shut", a="The gate is shut.")

    asked = asyncio.create_task(stage.ann.add_path("shut"))
    received = await stage.ann_at.got(4)
    stage.words.is_open.set()

    assert [one.sequence for one in received[:4]] == [None, 0, 1, 2]
    assert (await asked).added == 1


async def test_a_watch_without_progress_times_out(stage: Stage) -> None:
    stage.folder("shut", a="The gate is shut.")
    peer = RpcClient(stage.ann_at.node.requester, RAG, ONTOLOGY)

    async def ignore(_part: ProgressPart) -> None:
        return

    with pytest.raises(RequestTimeout, match="nothing came from rag@"):
        await peer.watch(
            *(RagClient._ingest_path.body("shut"), IngestReport, ProgressPart, ignore),
            timeout_s=PATIENCE_S,
            silence_s=0.05,
        )
    await stage.stopped()


async def test_the_same_long_request_again_gets_the_same_answer(stage: Stage) -> None:
    stage.folder("some", a="Herons fish at dawn.")

    first = await stage.ann.add_path("some", id="r1")
    again = await stage.ann.add_path("some", id="r1")

    assert again == first
    assert again.added == 1


async def test_the_splitting_is_the_askers(stage: Stage) -> None:
    stage.folder("words", a="word " * 300)

    small = await stage.ann.add_path("words", splitting=Splitting(size=100, overlap=0))
    large = await stage.ann.add_path("words", splitting=Splitting(size=4000, overlap=0))

    assert small.chunks >= 15
    assert large.chunks == 1


@pytest.mark.parametrize(
    ("size", "overlap", "field"), [(99, 0, "size"), (100, 100, "overlap"), (4000, 1001, "overlap")]
)
async def test_a_splitting_out_of_range_is_refused_by_field(
    stage: Stage, size: int, overlap: int, field: str
) -> None:
    for op in (
        {"op": "ingest", "document": {"text": "x", "source": "x"}},
        {"op": "ingest_path", "path": "x"},
    ):
        with pytest.raises(RequestRefused, match=field) as refused:
            await say(stage, **op, splitting={"size": size, "overlap": overlap})
        assert refused.value.wire_code == "invalid-arguments"


async def test_a_request_that_names_another_owner_is_refused(stage: Stage) -> None:
    with pytest.raises(RequestRefused) as refused:
        await say(stage, op="retrieve", query="herons", owner="bob@localhost")

    assert refused.value.wire_code == "unauthorised"


@pytest.mark.parametrize("only", [("handbook",)])
async def test_an_agent_may_keep_some_namespaces_only(stage: Stage, only: tuple[str, ...]) -> None:
    stage.folder("some", a="Herons fish at dawn.")
    await stage.ann.ingest(Document(text="Owls.", source="o.md", namespace="handbook"))

    asked: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: stage.ann.ingest(Document(text="Owls.", source="o.md")),
        lambda: stage.ann.add_path("some", namespace="else"),
    )
    for ask in asked:
        with pytest.raises(RequestRefused, match="handbook") as refused:
            await ask()
        assert refused.value.wire_code == "unauthorised"


def test_a_report_of_an_older_agent_is_read() -> None:
    report = IngestReport.decode('{"documents":[],"total":0}')

    assert (report.added, report.left_out) == (0, 0)
