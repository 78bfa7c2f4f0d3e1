"""What of ours shows which answer, on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.assistant.chat import message_correction
from spade_llm.assistant.chat.message_correction import ShownAnswer, ShownAnswers
from spade_llm.core.sqlite_file import PRUNE_EVERY_ROWS

if TYPE_CHECKING:
    import pytest

    from tests.conftest import PlaceOf

ADA = "ada@home"
FIRST = ShownAnswer(peer=ADA, place=ADA, asked="m1", request="m1", turn="m1.f")
SECOND = ShownAnswer(peer=ADA, place=ADA, asked="m2", request="m2", turn="m2.f")
ELSEWHERE = replace(FIRST, place=f"{ADA}#thread")


async def test_it_is_found_by_its_request_in_its_place_also_after_a_restart(
    place_of: PlaceOf,
) -> None:
    async with ShownAnswers(place_of("shownanswers.db")) as shown:
        for one in (FIRST, ELSEWHERE, SECOND):
            await shown.put(one)
        await shown.show(FIRST, ("b1", "b2"))

    async with ShownAnswers(place_of("shownanswers.db")) as shown:
        assert await shown.of_request(ADA, "m1") == replace(FIRST, ids=("b1", "b2"))
        assert await shown.of_request(ELSEWHERE.place, "m1") == ELSEWHERE
        assert await shown.of_request(ADA, "m3") is None
        assert await shown.last(ADA) == SECOND


async def test_a_corrected_question_is_one_with_its_answer_and_the_last_of_its_place(
    place_of: PlaceOf,
) -> None:
    async with ShownAnswers(place_of("shownanswers.db")) as shown:
        await shown.put(FIRST)
        await shown.put(SECOND)
        await shown.put(replace(FIRST, request="c1", turn="c1.f", ids=("b1",)))

        last = await shown.last(ADA)
        assert last is not None
        assert (last.request, last.ids) == ("c1", ("b1",))
        assert await shown.of_request(ADA, "m1") is None


async def test_forgetting_a_person_leaves_no_data(place_of: PlaceOf) -> None:
    async with ShownAnswers(place_of("shownanswers.db")) as shown:
        await shown.put(ELSEWHERE)
        await shown.put(replace(FIRST, peer="bob@home", place="bob@home"))

        await shown.forget(ADA)

        assert await shown.last(ELSEWHERE.place) is None
        assert await shown.last("bob@home") is not None


async def test_the_oldest_is_forgotten(place_of: PlaceOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_correction, "MAX_ROWS", 10)
    async with ShownAnswers(place_of("shownanswers.db")) as shown:
        for number in range(PRUNE_EVERY_ROWS + 1):
            await shown.put(replace(FIRST, asked=str(number), request=str(number)))

        assert await shown.of_request(ADA, "0") is None
        assert await shown.of_request(ADA, str(PRUNE_EVERY_ROWS)) is not None
