"""Requests to be reminded, which tell what the person has to do."""

from __future__ import annotations

import pytest

from spade_llm.understanding.answers import find_answers
from spade_llm.understanding.questions import Candidate
from spade_llm.understanding.reminders import as_task
from spade_llm.understanding.statements import read_history, read_message

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


@pytest.mark.parametrize(
    ("task", "message", "told"),
    [
        ("I have to pay the rent", "paid the rent", "I paid the rent"),
        ("I have to pay the rent", "rent paid", "I've paid the rent"),
        ("I have to pay the rent on Friday", "the rent is paid now", "I've paid the rent"),
        ("I have to water the plants", "the plants are watered", "I've watered the plants"),
        ("I should book a hotel", "the hotel is booked", "I've booked a hotel"),
        ("I must renew my passport", "I've renewed it", "I've renewed my passport"),
        ("I have to go to the bank", "I went to the bank", "I went to the bank"),
        ("I have to do the laundry", "done!", "I've done: do the laundry"),
        ("I have to clean the kitchen", "I did it", "I've done: clean the kitchen"),
        ("tengo que pagar el alquiler", "he pagado el alquiler", "He pagado el alquiler"),
        ("hay que comprar leche", "leche comprada", "Ya he comprado leche"),
        ("tengo que enviar la factura", "ya está enviada la factura", "Ya he enviado la factura"),
        ("tengo que renovar el carné", "ya lo he renovado", "Ya he renovado el carné"),
        ("tengo que limpiar la cocina", "hecho", "Ya lo he hecho: limpiar la cocina"),
        ("tengo que ir al banco", "fui al banco", "Fui al banco"),
    ],
)
def test_a_task_that_is_done_is_over(task: str, message: str, told: str) -> None:
    history = read_history([task, "my cat is called Tom", task, message])

    assert history.current == ["My cat is called Tom", told]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("I have to pay the rent", "I paid the gas"),
        ("I have to call Ana", "I called Leo"),
        ("I should eat less sugar", "I've eaten sugar"),
        ("I have to pay the rent", "my bike is painted"),
        ("tengo que llamar a Ana", "he llamado a Leo"),
        ("tengo que pagar el alquiler", "la luz está pagada"),
    ],
)
def test_another_task_is_not_over(task: str, message: str) -> None:
    known = read_history([task]).current

    assert read_history([task, message]).current[0] == known[0]


def test_done_without_a_task_tells_nothing() -> None:
    assert read_message("done!").statements == ()
    assert read_message("hecho", ["Tengo un gato"]).statements == ()


TOLD = ["I have to call the bank", "I paid the gas", "My cat is called Tom", "I have mailed it"]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what do I have to do?", TOLD[:1]),
        ("what's left to do?", TOLD[:1]),
        ("any pending tasks?", TOLD[:1]),
        ("my to-do list", TOLD[:1]),
        ("¿qué tareas tengo pendientes?", TOLD[:1]),
        ("who do I have to call?", TOLD[:1]),
        ("what do I have to pay?", []),
        ("what did I pay?", ["I paid the gas"]),
    ],
)
def test_only_open_tasks_answer_what_is_to_do(question: str, answers: list[str]) -> None:
    found = find_answers(question, [Candidate(text=text) for text in TOLD])

    assert [one.text for one in found] == answers
