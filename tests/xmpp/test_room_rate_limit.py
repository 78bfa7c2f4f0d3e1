"""Programs in a room come to an end, people are told when it is too much."""

from __future__ import annotations

from spade_llm.xmpp.features.room_state import (
    MAX_HOPS,
    MAX_TO_PROGRAMS,
    MINUTE_S,
    PER_ASKER,
    RoomAnswerDecision,
    RoomRateLimit,
)


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def asked(
    budget: RoomRateLimit, count: int, *, who: str = "ada", hops: int = 0
) -> list[RoomAnswerDecision]:
    return [budget.verdict(who, hops=hops, is_program=hops > 0) for _ in range(count)]


def test_a_chain_is_not_answered_beyond_its_hops() -> None:
    budget = RoomRateLimit(clock=Clock())

    assert asked(budget, 1, hops=MAX_HOPS - 1) == [RoomAnswerDecision.ANSWER]
    assert asked(budget, 1, hops=MAX_HOPS) == [RoomAnswerDecision.SILENCE]


def test_a_program_that_does_not_count_is_answered_so_often_until_a_person_speaks() -> None:
    budget = RoomRateLimit(clock=Clock())

    before = asked(budget, MAX_TO_PROGRAMS + 1, who="bot", hops=1)
    budget.person_spoke()

    assert before == [RoomAnswerDecision.ANSWER] * MAX_TO_PROGRAMS + [RoomAnswerDecision.SILENCE]
    assert asked(budget, 1, who="bot", hops=1) == [RoomAnswerDecision.ANSWER]


def test_a_person_is_told_once_a_minute_that_it_is_too_much() -> None:
    clock = Clock()
    budget = RoomRateLimit(clock=clock)

    first = asked(budget, PER_ASKER + 2)
    clock.now_s += MINUTE_S
    later = asked(budget, 1)

    assert first == [RoomAnswerDecision.ANSWER] * PER_ASKER + [
        RoomAnswerDecision.REFUSE,
        RoomAnswerDecision.SILENCE,
    ]
    assert later == [RoomAnswerDecision.ANSWER]


def test_a_room_has_a_limit_of_its_own() -> None:
    budget = RoomRateLimit(per_minute=3, clock=Clock())

    verdicts = [asked(budget, 1, who=f"guest {n}")[0] for n in range(5)]

    assert verdicts == [RoomAnswerDecision.ANSWER] * 3 + [RoomAnswerDecision.REFUSE] * 2
