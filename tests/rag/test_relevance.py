"""What counts as an answer: the default minimum score, on twenty small documents."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.providers import MiniLmEmbedder, find_weights
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.ranking import hybrid_score
from spade_llm.search.bm25 import keyword_score
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.providers.model import Embedder
    from spade_llm.rag import Library

TEXTS = {
    "router.md": "Hold the blue button for nine seconds to reset the router to factory settings.",
    "vacation.md": "Employees have 28 days of paid vacation; ask your manager two weeks ahead.",
    "backup.md": "Backups run every night at two and are kept for ninety days in cold storage.",
    "coffee.md": "The coffee machine is cleaned on Fridays; descaling tablets are in the drawer.",
    "parking.md": "Visitors park on level three. The barrier opens with the code on the badge.",
    "invoice.md": "Invoices are paid within thirty days. Send them to the accounting mailbox.",
    "printer.md": "The printer on the second floor jams when the tray holds glossy paper.",
    "vpn.md": "Error E4017 means that the VPN certificate has expired: renew it in the portal.",
    "fire.md": "In case of fire leave by the north stairs and gather at the old oak tree.",
    "garden.md": "The roof garden is watered at dawn by a timer that the caretaker sets.",
    "salary.md": "Salaries arrive on the 25th. Payslips are in the personnel portal.",
    "travel.md": "Book trains through the travel desk; flights need the approval of a director.",
    "meeting.md": "The weekly planning meeting is on Monday at ten in the room Turing.",
    "laptop.md": "A lost laptop must be reported within one hour so that its disk can be wiped.",
    "canteen.md": "The canteen serves lunch from noon to two; the menu has a vegan dish daily.",
    "heating.md": "Heating starts in October. Report cold radiators to the caretaker.",
    "licence.md": "Our library is published under the MIT licence; contributors keep copyright.",
    "release.md": "A release is tagged after the test suite has passed on all three platforms.",
    "database.md": "La base de datos se reinicia con el botón verde del panel de control.",
    "gym.md": "The gym in the basement is open to members from six in the morning.",
}
ANSWERED = {
    "How do I reset the router?": "router.md",
    "How many days of paid vacation do employees have?": "vacation.md",
    "How long are backups kept?": "backup.md",
    "What does E4017 mean?": "vpn.md",
    "Where do visitors park?": "parking.md",
    "When are invoices paid?": "invoice.md",
    "What should I do in case of fire?": "fire.md",
    "Who approves flights?": "travel.md",
    "I have lost my laptop, what now?": "laptop.md",
    "¿Cómo se reinicia la base de datos?": "database.md",
}
UNANSWERED = [
    "Which volcano erupted near Reykjavik last summer?",
    "Translate this sonnet into Klingon for my grandmother",
    "quantum chromodynamics lattice simulation",
    "Who won the chess championship?",
    "What is it, then, that you would have me do?",
    "asdf qwer zxcv",
]


PARAPHRASED = {
    "My notebook computer was stolen": "laptop.md",
    "How much holiday do staff get?": "vacation.md",
    "Where can I exercise before work?": "gym.md",
    "It is too cold in my office": "heating.md",
}
"""No word in common with the answer: for a model that knows meaning."""


@pytest.fixture(params=["hybrid", "keywords", "minilm"])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Library]:
    async with contextlib.AsyncExitStack() as stack:
        embedder: Embedder | None = None
        if request.param == "hybrid":
            embedder = BagOfWords()
        elif request.param == "minilm":
            embedder = await stack.enter_async_context(await _minilm(tmp_path))
        yield await _filled(await stack.enter_async_context(_library(tmp_path, embedder)))


@pytest.fixture
async def real_office(tmp_path: Path) -> AsyncIterator[Library]:
    async with await _minilm(tmp_path) as embedder, _library(tmp_path, embedder) as library:
        yield await _filled(library)


async def _minilm(tmp_path: Path) -> MiniLmEmbedder:
    weights = find_weights(tmp_path / "models")
    if weights is None:
        pytest.skip("all-MiniLM-L6-v2 is not installed here")
    return await MiniLmEmbedder.load(weights, cache=tmp_path / "cache", threads=1)


def _library(tmp_path: Path, embedder: Embedder | None) -> DocumentLibrary:
    return DocumentLibrary(tmp_path / "library", embedder=embedder)


async def _filled(library: DocumentLibrary) -> Library:
    mine = library.for_owner("ann@localhost")
    for source, text in TEXTS.items():
        await mine.ingest(Document(text=text, source=source))
    return mine


async def test_a_question_with_an_answer_finds_it_first(office: Library) -> None:
    for question, source in ANSWERED.items():
        found = await office.retrieve(question)
        assert [one.chunk.source for one in found.chunks][:1] == [source], question


async def test_a_question_in_other_words_finds_it_too(real_office: Library) -> None:
    for question, source in PARAPHRASED.items():
        found = await real_office.retrieve(question)
        assert [one.chunk.source for one in found.chunks][:1] == [source], question


async def test_a_question_without_an_answer_finds_nothing(office: Library) -> None:
    for question in UNANSWERED:
        assert (await office.retrieve(question)).chunks == (), question


async def test_chance_words_in_common_are_never_a_high_score(office: Library) -> None:
    found = await office.retrieve("Which old tree on the second moon blooms at dawn in October?")

    assert all(one.score < 0.5 for one in found.chunks)


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_score_is_a_share_and_grows_with_both(cosine: float, share: float, more: float) -> None:
    score = hybrid_score(cosine, share)

    assert 0 <= score <= 1
    assert hybrid_score(cosine, max(share, more)) >= score
    assert 0 <= keyword_score(share, more) <= share
