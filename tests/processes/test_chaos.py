"""The chaos run of bench/, for a few seconds; and that it would notice what it looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.chaos import QUICK, wreck
from bench.chaos_ledger import Ledger, Said, complaints_about
from bench.chaos_model import ChaosModel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.server
@pytest.mark.timeout(240)
async def test_every_message_has_one_answer_or_an_error_under_faults(tmp_path: Path) -> None:
    outcome = await wreck(tmp_path, QUICK)

    assert outcome.complaints == []
    assert len(outcome.faults) > 1
    assert len(outcome.ledger.said) > 20
    assert outcome.ledger.kept


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (Said(text="a", began=0.0), "no answer and no error: a"),
        (Said(text="a", began=0.0, answers={"1", "2"}), "more than one answer: a"),
        (Said(text="a", began=0.0, answers={"1"}, errors=["away"]), "more than one answer: a"),
    ],
)
def test_no_answer_and_two_answers_are_noticed(said: Said, complaint: str) -> None:
    (noticed,) = Ledger(said=[said]).complaints()

    assert noticed.startswith(complaint)


@pytest.mark.parametrize(
    "said",
    [
        Said(text="a", began=0.0, answers={"1"}),
        Said(text="a", began=0.0, errors=["away", "away"]),
    ],
)
def test_one_answer_and_any_number_of_errors_are_as_promised(said: Said) -> None:
    assert Ledger(said=[said]).complaints() == []


def test_words_of_another_are_noticed_wherever_they_are_shown() -> None:
    ledger, model = Ledger(), ChaosModel()
    shown = {"role": "user", "content": "person1-4 hello; you know: person2-7 is kept"}

    ledger.note_words("person1", str(shown["content"]), "an answer")
    model.unscripted({"messages": [shown]})

    assert ledger.complaints() == ["an answer: person1 saw words of person2"]
    assert model.mixed == [{"person1", "person2"}]


def test_lost_duplicate_and_foreign_memories_are_detected() -> None:
    stored = [
        ("program1@localhost", "", "program1-1 is kept"),
        ("program1@localhost", "", "program1-2 is kept"),
        ("program1@localhost", "", "program1-2 is kept"),
        ("assistant@localhost", "person2@localhost", "person1-1 is kept"),
    ]

    complaints = complaints_about(stored, ["program1-1 is kept", "program1-9 is kept"])

    assert complaints == [
        "acknowledged and lost: program1-9 is kept",
        "stored 2 times: program1-2 is kept",
        "'person1-1 is kept' belongs to assistant@localhost about person2@localhost",
    ]
