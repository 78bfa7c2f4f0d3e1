"""Memory exam: its cases can be read, replies are judged by their words, and cases are played."""

from __future__ import annotations

import re

import pytest

from bench.memory_exam.cases import Group, Half, Kind, Line, load, parse
from bench.memory_exam.contamination import STATED, contaminations
from bench.memory_exam.judge import fault
from bench.memory_exam.pairs import LABELS, is_ended, read_pairs
from bench.memory_exam.runner import figures, main, play

FIVE = """
@name en
+ My name is Ada. || ada
? what's my name? || ada

@colour en
+ my favourite colour is blue || blue
* No, green || green
? what's my favourite colour? || green || blue

@pin es
+ mi PIN es 7733 || pin
x olvida mi PIN
? ¿cuál es mi PIN? || || 7733

@rome en
- Do I live in Rome?
? where do I live? || || rome

@code en
+ remember that the code is 4711 || 4711
k what do you know about the code? || 4711
"""


def line(kind: str, wanted: str = "", forbidden: str = "", excuse: str = "") -> Line:
    (case,) = parse(f"@a en\n{kind} said || {wanted} || {forbidden} || {excuse}", Group.TRAPS)
    return case.lines[0]


def test_all_cases_can_be_read_and_are_in_one_half_only() -> None:
    cases = [case for half in Half for case in load(half)]
    patterns = [
        text for case in cases for one in case.lines for text in (*one.wanted, one.forbidden)
    ]

    assert len({case.id for case in cases}) == len(cases)
    assert len({tuple(one.text for one in case.lines) for case in cases}) == len(cases)
    assert {case.language for case in cases} == {"en", "es"}
    assert all(re.compile(text) for text in patterns)


@pytest.mark.parametrize(
    "reply",
    [
        "I found nothing about that in memory or documents. My bike is in the garage.",
        "Esto es lo que recuerdo:\n- bike",
        "Got it.",
        f"Your bike is in the garage. {'And so on. ' * 20}",
    ],
)
def test_what_is_no_acknowledgement(reply: str) -> None:
    assert fault(line("+", "bike"), reply, Group.STATEMENTS)


def test_acknowledgements_and_answers_may_have_a_notice_in_front_and_accents() -> None:
    notice = "(No language model is configured; I follow simple rules.)"

    assert not fault(line("+", "lucia"), f"{notice} Noted: Lucía.", Group.STATEMENTS)
    assert not fault(line("?", "lucia"), f"{notice} LUCÍA", Group.STATEMENTS)


def test_an_answer_is_not_found_in_what_says_that_there_is_none() -> None:
    assert fault(line("?", r"no\b"), "No recuerdo nada sobre eso.", Group.STATEMENTS)
    assert fault(line("?", "22"), "I moved (2026-11-22)", Group.STATEMENTS)
    assert fault(line("?", "garage"), f"{'Well, ' * 40} the garage.", Group.STATEMENTS)


def test_what_is_no_longer_so_may_be_told_as_the_past_only() -> None:
    asked = line("?", "valencia", "madrid")

    assert fault(asked, "You live in Valencia.\nYou live in Madrid.", Group.CHANGES)
    assert not fault(asked, "You live in Valencia (before: Madrid).", Group.CHANGES)


def test_a_trap_is_what_is_claimed_of_the_person() -> None:
    asked = line("?", "", "paris", "ana")

    assert fault(asked, "You live in Paris.", Group.TRAPS)
    assert not fault(asked, "I do not know. Ana is moving to Paris.", Group.TRAPS)


def test_which_is_asked_with_both_names() -> None:
    asked = line(Kind.WHICH, "garage & office")

    assert fault(asked, "Forgotten: the code of the garage and the office.", Group.DELETIONS)
    assert not fault(asked, "Which one: garage or office?", Group.DELETIONS)


@pytest.mark.thorough
async def test_five_cases_are_played() -> None:
    exchanges = await play(parse(FIVE, Group.STATEMENTS), by_meaning=False)

    assert len(exchanges) == 16
    assert all(one.reply and not one.reply.startswith("[") for one in exchanges)
    assert [one.fault for one in exchanges if one.case.id == "name"] == ["", "", ""]
    assert figures(exchanges)[Group.STATEMENTS, "whole cases"]["all"][1] == 5


def test_cases_of_the_held_out_half_are_not_shown() -> None:
    with pytest.raises(SystemExit):
        main(["--half", "held_out", "--failures"])


@pytest.mark.thorough
def test_what_adds_to_a_statement_seldom_ends_it() -> None:
    pairs = read_pairs()
    unchanged = [pair for pair in pairs if not pair.is_change]

    assert {pair.label for pair in pairs} == LABELS.keys()
    assert sum(map(is_ended, unchanged)) <= 0.03 * len(unchanged)


def test_a_fact_of_another_person_that_a_message_ends_is_found() -> None:
    told = "@ann en\n+ My rent is 950 a month\n\n@bea en\n* the rent went up to 910"

    (found,) = contaminations(parse(told, Group.CHANGES), rounds=1)

    assert found.ended == ("My rent is 950 a month",)


@pytest.mark.thorough
def test_few_messages_end_facts_of_others() -> None:
    cases = load(Half.DEV)
    stated = sum(line.kind in STATED for case in cases for line in case.lines)

    assert sum(bool(one.ended) for one in contaminations(cases, rounds=1)) <= 0.03 * stated
