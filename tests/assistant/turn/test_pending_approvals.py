"""Which answer belongs to which question: the place, the peer, and the order."""

from __future__ import annotations

import asyncio

from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict, PendingApprovals

ADA, EVE = "ada@example.org", "eve@example.org"


def question(id: str) -> ApprovalQuestion:
    return ApprovalQuestion(id=id, tool="send", arguments=(), expires_s=5)


async def asked(
    questions: PendingApprovals, one: ApprovalQuestion, peer: str
) -> asyncio.Task[ApprovalVerdict]:
    """Running, and shown."""
    is_shown = asyncio.Event()

    async def show() -> None:
        is_shown.set()

    task = asyncio.create_task(questions.ask(one, place="here", peer=peer, show=show))
    await is_shown.wait()
    return task


async def test_two_peers_are_asked_at_one_place_and_neither_disturbs_the_other() -> None:
    questions = PendingApprovals()
    of_ada = await asked(questions, question("1"), ADA)
    of_eve = await asked(questions, question("2"), EVE)

    questions.settle("here", ApprovalVerdict.YES, peer=EVE)
    assert await of_eve is ApprovalVerdict.YES
    assert not of_ada.done()
    questions.settle("here", ApprovalVerdict.NO, peer=ADA)

    assert await of_ada is ApprovalVerdict.NO


async def test_a_yes_counts_at_once_only_if_nothing_was_answered_just_before() -> None:
    questions = PendingApprovals()
    first = await asked(questions, question("1"), ADA)
    assert not questions.is_too_early("here", peer=ADA)
    questions.settle("here", ApprovalVerdict.YES, peer=ADA)
    await first

    second = await asked(questions, question("2"), ADA)

    assert questions.is_too_early("here", peer=ADA)
    questions.settle("here", ApprovalVerdict.NO, peer=ADA)
    assert await second is ApprovalVerdict.NO
