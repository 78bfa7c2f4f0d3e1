"""Conversations with planted facts: their answers are where the questions say."""

from __future__ import annotations

from bench.planted import KINDS, PEOPLE, planted
from bench.talk import ADVERSARIAL


def test_they_are_always_the_same() -> None:
    assert planted(2, sessions=3) == planted(2, sessions=3)


def test_every_question_has_its_evidence_in_its_own_conversation() -> None:
    for conversation in planted(len(PEOPLE), sessions=6):
        texts = {turn.id: turn.text for turn in conversation.turns}
        assert len(texts) == len(conversation.turns)
        for question in conversation.questions:
            (id,) = question.evidence
            assert any(value in texts[id] for kind in KINDS for value in kind.values)


def test_questions_name_the_speaker_and_adversarial_ones_the_other_person() -> None:
    for conversation in planted(3, sessions=6):
        speakers = {turn.id: turn.speaker or "" for turn in conversation.turns}
        for question in conversation.questions:
            (id,) = question.evidence
            is_theirs = speakers[id] in question.text
            assert is_theirs is (question.category != ADVERSARIAL)


def test_there_are_questions_of_all_kinds() -> None:
    categories = {one.category for talk in planted(4, sessions=12) for one in talk.questions}

    assert categories == {"said outright", "said as an answer", ADVERSARIAL}
