"""What 👍 and 👎 do to the memories that an answer was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.feedback import LOWEST, STEP, AnswerFeedback, FeedbackLog, verdict_of
from spade_llm.core.errors import PeerUnavailable
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.memory.contract import MemoryChange, MemoryEntry, OwnedMemory

ADA = "ada@home"


@pytest.fixture
async def memory() -> AsyncIterator[OwnedMemory]:
    async with SQLiteMemoryBackend(":memory:") as backend:
        yield backend.for_owner("assistant@home")


@pytest.fixture
async def log() -> AsyncIterator[FeedbackLog]:
    async with FeedbackLog(None) as log:
        yield log


async def answer_from(log: FeedbackLog, question: str, *ids: str) -> None:
    await log.note(peer=ADA, question=question, conversation=ADA, memories=ids)


async def confidence(memory: OwnedMemory, id: str) -> float:
    (entry,) = await memory.peek([id])
    return entry.confidence


async def reacted(feedback: AnswerFeedback, emoji: str, *, to: str = "q.answer") -> None:
    assert await feedback.react({emoji} - {""}, to=to, peer=ADA)
    await feedback.settle()


@pytest.mark.parametrize(
    ("emojis", "verdict"),
    [
        ({"👍"}, 1),
        ({"👎🏽"}, -1),
        ({"👍️", "🎉"}, 1),
        ({"👍", "👎"}, 0),
        ({"🎉", "❤️"}, 0),
        (set(), 0),
    ],
)
def test_thumbs_are_verdicts_and_nothing_else_is(emojis: set[str], verdict: int) -> None:
    assert verdict_of(emojis) == verdict


async def test_a_memory_counts_less_and_as_before_when_it_is_taken_back(
    memory: OwnedMemory, log: FeedbackLog
) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six."))
    bystander = await memory.add(MemoryDraft(content="The ferry is white."))
    await answer_from(log, "q", used.id)
    feedback = AnswerFeedback(log, memory)

    await reacted(feedback, "👎")
    less = await confidence(memory, used.id)
    await reacted(feedback, "")

    assert less == pytest.approx(1 - STEP)
    assert await confidence(memory, used.id) == 1.0
    assert await confidence(memory, bystander.id) == 1.0


async def test_a_verdict_that_is_changed_counts_once(memory: OwnedMemory, log: FeedbackLog) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six.", confidence=0.6))
    await answer_from(log, "q", used.id)
    feedback = AnswerFeedback(log, memory)

    await reacted(feedback, "👎")
    await reacted(feedback, "👍")

    assert await confidence(memory, used.id) == pytest.approx(0.6 + STEP)


async def test_however_many_dislike_it_a_memory_is_not_lost(
    memory: OwnedMemory, log: FeedbackLog
) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six."))
    feedback = AnswerFeedback(log, memory)
    for number in range(9):
        await answer_from(log, f"q{number}", used.id)
        await reacted(feedback, "👎", to=f"q{number}.answer")
    lowest = await confidence(memory, used.id)
    for number in range(9):
        await reacted(feedback, "", to=f"q{number}.answer")

    assert lowest == LOWEST
    assert await confidence(memory, used.id) == 1.0


async def test_feedback_counts_only_from_the_receiver_of_the_answer(
    memory: OwnedMemory, log: FeedbackLog
) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six."))
    await answer_from(log, "q", used.id)

    assert not await AnswerFeedback(log, memory).react({"👎"}, to="q.answer", peer="eve@home")
    assert await log.unsettled() == []


async def test_a_memory_that_was_forgotten_meanwhile_is_passed_over(
    memory: OwnedMemory, log: FeedbackLog
) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six."))
    await answer_from(log, "q", used.id)
    await memory.forget([used.id])

    await reacted(AnswerFeedback(log, memory), "👎")

    assert await log.unsettled() == []


class Away:
    """Memory that cannot be reached."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        raise PeerUnavailable("memory@home cannot be reached", peer="memory@home")

    async def update(self, change: MemoryChange) -> MemoryEntry:
        raise PeerUnavailable("memory@home cannot be reached", peer="memory@home")


async def test_feedback_is_queued_while_memory_is_unavailable(
    memory: OwnedMemory, log: FeedbackLog
) -> None:
    used = await memory.add(MemoryDraft(content="The ferry leaves at six."))
    await answer_from(log, "q", used.id)

    await reacted(AnswerFeedback(log, Away()), "👎")
    waiting = await log.unsettled()
    await AnswerFeedback(log, memory).settle()

    assert len(waiting) == 1
    assert await confidence(memory, used.id) == pytest.approx(1 - STEP)
