"""Requests to be reminded, which tell what the person has to do."""

from __future__ import annotations

import pytest

from spade_llm.understanding.reminders import as_task
from spade_llm.understanding.statements import read_message

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("remind me to call my mum tomorrow", "I have to call my mum tomorrow"),
        ("Can you remind me on Friday to pay the rent?", "I have to pay the rent on Friday"),
        ("don't let me forget to water the plants", "I have to water the plants"),
        ("please don't forget to call the bank", "I have to call the bank"),
        ("remember to buy milk", "I have to buy milk"),
        ("the dentist is at 4, remind me to bring the card", "I have to bring the card"),
        ("remind me that I have yoga at 6", "I have yoga at 6"),
        ("recuérdame llamar a Ana", "Tengo que llamar a Ana"),
        ("recuérdame que llame a mi madre mañana", "Tengo que llamar a mi madre mañana"),
        ("recuérdame mañana que compre pan", "Tengo que comprar pan mañana"),
        ("¿puedes recordarme que pida cita?", "Tengo que pedir cita"),
        ("recuérdame que me tome la pastilla", "Tengo que tomarme la pastilla"),
        ("que no se me olvide sacar la basura", "Tengo que sacar la basura"),
        ("no olvides que soy vegano", "Soy vegano"),
    ],
)
def test_a_request_to_be_reminded_tells_what_has_to_be_done(text: str, task: str) -> None:
    told = [one.text for one in read_message(text).statements]

    assert any(one.endswith((task, task[:1].lower() + task[1:])) for one in told)


@pytest.mark.parametrize(
    "text",
    [
        "remind me what I told you about Ana",
        "remind me about my appointment",
        "do you remember to whom I gave the keys?",
        "remember to answer in Spanish",
        "don't forget to speak Spanish",
        "I always forget to call my mum",
        "my phone reminds me to stand up",
        "Ana reminded me to pay",
        "they ring and remind me to pay",
        "recuérdame qué te dije de Ana",
        "recuérdame dónde vivo",
        "recuérdame que viene Ana el lunes",
        "siempre se me olvida comprar pan",
        "recuerdas que tengo que llamar?",
        "no recuerdo haber dicho eso",
    ],
)
def test_what_only_resembles_such_a_request_stays_as_it_is(text: str) -> None:
    assert as_task(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "parents' evening is on Wednesday at 6, can you remind me?",
        "parents' evening is on Wednesday at 6, remind me please",
    ],
)
def test_a_wish_to_be_reminded_behind_a_statement_asks_nothing(text: str) -> None:
    read = read_message(text)

    assert [one.text for one in read.statements] == ["Parents' evening is on Wednesday at 6"]
    assert not read.questions
