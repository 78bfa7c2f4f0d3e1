"""Which answer belongs to which question: the place, the peer, and the order."""

from __future__ import annotations

import asyncio

from spade_llm.conversation.approval import Question, Verdict
from spade_llm.conversation.open_questions import OpenQuestions

ADA, EVE = "ada@example.org", "eve@example.org"


def question(id: str) -> Question:
    return Question(id=id, tool="send", arguments=(), expires_s=5)


async def asked(questions: OpenQuestions, one: Question, peer: str) -> asyncio.Task[Verdict]:
    """Running, and shown."""
    is_shown = asyncio.Event()

    async def show() -> None:
        is_shown.set()

    task = asyncio.create_task(questions.ask(one, place="here", peer=peer, show=show))
    await is_shown.wait()
    return task


async def test_two_peers_are_asked_at_one_place_and_neither_disturbs_the_other() -> None:
    questions = OpenQuestions()
    of_ada = await asked(questions, question("1"), ADA)
    of_eve = await asked(questions, question("2"), EVE)

    questions.settle("here", Verdict.YES, peer=EVE)
    assert await of_eve is Verdict.YES
    assert not of_ada.done()
    questions.settle("here", Verdict.NO, peer=ADA)

    assert await of_ada is Verdict.NO


async def test_a_yes_counts_at_once_only_if_nothing_was_answered_just_before() -> None:
    questions = OpenQuestions()
    first = await asked(questions, question("1"), ADA)
    assert not questions.is_too_early("here", peer=ADA)
    questions.settle("here", Verdict.YES, peer=ADA)
    await first

    second = await asked(questions, question("2"), ADA)

    assert questions.is_too_early("here", peer=ADA)
    questions.settle("here", Verdict.NO, peer=ADA)
    assert await second is Verdict.NO
