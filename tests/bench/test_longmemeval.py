"""Files of LongMemEval's form: what is read of them, and what is said of one that is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bench.longmemeval_data import UnreadableFile, read_file, read_instances

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def instance(id: str = "q1", kind: str = "single-session-user") -> dict[str, Any]:
    """The later session comes first, as in the files that hold only evidence."""
    return {
        "question_id": id,
        "question_type": kind,
        "question": "Which instrument do I play?",
        "answer": "the cello",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_7_1", "filler_3"],
        "haystack_dates": ["2023/05/22 (Mon) 09:00", "2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I practised the cello.", "has_answer": True},
                {"role": "assistant", "content": "How did it go?", "has_answer": False},
            ],
            [
                {"role": "user", "content": "It rains."},
                {"role": "assistant", "content": ""},
                {"role": "user", "content": "Still."},
            ],
        ],
        "answer_session_ids": ["answer_7_1"],
    }


def written(folder: Path, *instances: object) -> Path:
    path = folder / "longmemeval_s.json"
    path.write_text(json.dumps(instances), encoding="utf-8")
    return path


def test_a_question_becomes_a_conversation_with_its_sessions_by_time(tmp_path: Path) -> None:
    (conversation,) = read_file(written(tmp_path, instance()))

    texts = [turn.text for turn in conversation.turns]
    assert texts == ["It rains.", "Still.", "I practised the cello.", "How did it go?"]
    assert len({turn.session for turn in conversation.turns}) == 2
    assert conversation.turns[0].at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert all(turn.id.startswith("q1/") for turn in conversation.turns)


def test_its_evidence_are_the_turns_and_the_sessions_that_are_named(tmp_path: Path) -> None:
    (conversation,) = read_file(written(tmp_path, instance()))

    (question,) = conversation.questions
    cello = conversation.turns[2]
    assert question.evidence == {cello.id}
    assert question.sessions == {cello.session}
    assert question.category == "single-session-user"
    assert question.at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)


def test_a_question_that_nothing_answers_is_not_asked(tmp_path: Path) -> None:
    nowhere = instance("q2_abs") | {"answer_session_ids": ["answer_9"]}

    names = [one.name for one in read_file(written(tmp_path, nowhere, instance()))]

    assert names == ["q1"]


def test_a_few_of_many_are_of_all_types(tmp_path: Path) -> None:
    many = [instance(f"u{number}") for number in range(5)] + [instance("m1", "multi-session")]

    names = [one.name for one in read_file(written(tmp_path, *many), limit=2)]

    assert names == ["u0", "m1"]


def test_a_session_that_is_there_twice_is_two(tmp_path: Path) -> None:
    twice = instance() | {"haystack_session_ids": ["answer_7_1", "answer_7_1"]}

    (conversation,) = read_file(written(tmp_path, twice))

    assert len(conversation.questions[0].sessions) == 2
    assert len({turn.id for turn in conversation.turns}) == len(conversation.turns)


def test_an_answer_may_be_a_number(tmp_path: Path) -> None:
    (read,) = read_instances(written(tmp_path, instance() | {"answer": 3}))

    assert read.answer == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.pop("haystack_dates"), "[1].haystack_dates: Field required"),
        (lambda one: one["haystack_dates"].pop(), "[1]: Value error, haystack_dates has 1 items"),
        (
            lambda one: one.update(question_date="30 May"),
            "[1].question_date: Value error, '30 May'",
        ),
        (lambda one: one.update(question=7), "[1].question: Input should be a valid string"),
        (
            lambda one: one["haystack_sessions"][0][1].update(role="system"),
            "[1].haystack_sessions[0][1].role: Input should be 'user' or 'assistant'",
        ),
        (
            lambda one: one.update(answer_session_ids=["elsewhere"]),
            "[1]: Value error, answer_session_ids names 'elsewhere'",
        ),
        (lambda one: one.update(question_id="q0"), "[1].question_id: 'q0' is there twice"),
    ],
)
def test_errors_name_file_and_field(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    wrong = instance()
    change(wrong)
    path = written(tmp_path, instance("q0"), wrong)

    with pytest.raises(UnreadableFile) as raised:
        read_file(path)

    assert str(raised.value).startswith(f"{path}: {said}")


def test_a_file_that_is_no_json_or_empty_or_not_there_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("[{", encoding="utf-8")

    for path in (broken, written(tmp_path), tmp_path / "nowhere.json"):
        with pytest.raises(UnreadableFile, match=str(path)):
            read_instances(path)
