"""What of answers is kept for reactions to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant import feedback
from spade_llm.assistant.feedback import FeedbackLog
from spade_llm.core import sqlite_file

if TYPE_CHECKING:
    from tests.conftest import PlaceOf

ADA, BOB = "ada@home", "bob@home"


async def noted(log: FeedbackLog, question: str, *, peer: str = ADA) -> None:
    await log.note(peer=peer, question=question, conversation=peer, memories=["m1"])


@pytest.mark.parametrize("suffix", ["", ".answer", ".answer.0", ".7", ".answer.1.2"])
async def test_an_answer_is_found_by_the_id_of_any_of_its_parts(
    place_of: PlaceOf, suffix: str
) -> None:
    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        await noted(log, "q.1")

        found = await log.find(peer=ADA, message_id=f"q.1{suffix}")

        assert found is not None
        assert found.memories == ("m1",)


async def test_only_the_receiver_of_an_answer_finds_it(place_of: PlaceOf) -> None:
    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        await noted(log, "q")

        assert await log.find(peer=BOB, message_id="q.answer") is None
        assert await log.find(peer=ADA, message_id="another.answer") is None


async def test_a_verdict_survives_the_process_and_waits_until_it_is_settled(
    place_of: PlaceOf,
) -> None:
    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        await noted(log, "q")
        found = await log.find(peer=ADA, message_id="q.answer")
        assert found is not None
        await log.judge(found, -1)

    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        (waiting,) = await log.unsettled()
        await log.settle(waiting, {"m1": -0.2})
        settled = await log.last(peer=ADA, conversation=ADA)

        assert await log.unsettled() == []
        assert settled is not None
        assert (settled.verdict, settled.shifts) == (-1, {"m1": -0.2})


async def test_the_oldest_answers_leave(place_of: PlaceOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "MAX_ANSWERS", 5)
    monkeypatch.setattr(sqlite_file, "PRUNE_EVERY_ROWS", 1)
    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        for number in range(20):
            await noted(log, f"q{number}")

        there = [n for n in range(20) if await log.find(peer=ADA, message_id=f"q{n}") is not None]

    assert there == [15, 16, 17, 18, 19]


async def test_forgetting_a_person_deletes_their_feedback(place_of: PlaceOf) -> None:
    async with FeedbackLog(place_of("feedbacklog.db")) as log:
        await noted(log, "q")
        await noted(log, "q", peer=BOB)

        await log.forget(ADA)

        assert await log.find(peer=ADA, message_id="q") is None
        assert await log.find(peer=BOB, message_id="q") is not None
