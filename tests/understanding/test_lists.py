"""Lists of a person, and what is added to them and taken off."""

from __future__ import annotations

import pytest

from spade_llm.understanding.answers import find_answers, with_closed
from spade_llm.understanding.questions import Candidate
from spade_llm.understanding.statements import read_history, read_message


@pytest.mark.parametrize(
    ("messages", "items"),
    [
        (["shopping list: milk, eggs and bread"], "Shopping list: milk, eggs, bread"),
        (
            ["shopping list: milk, eggs", "add butter to the list"],
            "Shopping list: milk, eggs, butter",
        ),
        (["shopping list: milk", "put some tea on the shopping list"], "Shopping list: milk, tea"),
        (["shopping list: milk, eggs", "got the eggs"], "Shopping list: milk"),
        (["shopping list: eggs", "bought a dozen eggs"], "Shopping list: empty"),
        (
            ["my packing list is: socks, tent", "add soap", "cross off the tent"],
            "Packing list: socks, soap",
        ),
        (
            ["lista de la compra: leche, huevos y pan", "ya compré los huevos", "añade tomates"],
            "Lista de la compra: leche, pan, tomates",
        ),
        (["lista de la compra: leche", "quita la leche de la lista"], "Lista de la compra: vacía"),
        (
            ["shopping for tomorrow: lemons, thyme", "we need eggs too", "take thyme off the list"],
            "Shopping for tomorrow: lemons, eggs",
        ),
        (
            ["I have to buy milk, eggs and tea", "I bought the milk", "add bread"],
            "I have to buy eggs, tea, bread",
        ),
        (
            ["apunta que tengo que comprar leche y pan", "ya he comprado el pan"],
            "Tengo que comprar leche",
        ),
        (
            ["lista de la maleta: cámara, botas", "ya he metido la cámara"],
            "Lista de la maleta: botas",
        ),
    ],
)
def test_items_are_added_and_taken_off(messages: list[str], items: str) -> None:
    assert read_history(messages).current == [items]


def test_nothing_is_left_to_be_bought() -> None:
    history = read_history(["I have to buy a tent", "I bought a tent"])
    assert history.current == ["I bought a tent"]
    assert history.former == {"I have to buy a tent": "I bought a tent"}


@pytest.mark.parametrize("text", ["we need more nurses as well", "I got a dog", "add up 3 and 4"])
def test_what_is_not_about_a_list_changes_none(text: str) -> None:
    lists = ["Shopping list: milk", "I live in Bray", "I have a cat", "My car is red"]
    assert not any(one.replaced for one in read_message(text, lists).statements)


def test_what_is_on_no_list_is_a_fact() -> None:
    read = read_message("I bought a car", ["Shopping list: milk, eggs"])
    assert [one.text for one in read.statements] == ["I bought a car"]
    assert not read.statements[0].replaced


def test_a_request_to_add_something_needs_a_list() -> None:
    assert not read_message("add butter to the list", ["I live in Bray"]).statements


def test_of_two_lists_the_named_one_is_changed() -> None:
    lists = ["Shopping list: milk", "Packing list: socks"]
    read = read_message("add eggs to the shopping list", lists)
    assert [one.replaced for one in read.statements] == lists[:1]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "I have a parrot called Coco and a ferret called Dot",
            ["I have a parrot called Coco", "I have a ferret called Dot"],
        ),
        (
            "I do judo on Mondays, chess on Tuesdays and choir on Fridays",
            ["I do judo on Mondays", "I do chess on Tuesdays", "I do choir on Fridays"],
        ),
        ("I pay 8 for Dropbox and 5 for iCloud", ["I pay 8 for Dropbox", "I pay 5 for iCloud"]),
        (
            "We've got two boys, Gus (9) and Ned (6)",
            ["We've got two boys: Gus and Ned", "My boy Gus is 9", "My boy Ned is 6"],
        ),
        (
            "I've got an appointment with the vet on Monday and one with the optician on Friday",
            [
                "I've got an appointment with the vet on Monday",
                "I've got an appointment with the optician on Friday",
            ],
        ),
        ("My dad takes Zocor and my aunt Plavix", ["My dad takes Zocor", "My aunt takes Plavix"]),
        (
            "Tomo ramipril por la mañana y zolpidem por la noche",
            ["Tomo ramipril por la mañana", "Tomo zolpidem por la noche"],
        ),
        (
            "Tengo dos nietos, Gus de 9 años y Leo de 6",
            ["Tengo dos nietos: Gus y Leo", "Gus tiene 9 años", "Leo tiene 6 años"],
        ),
        (
            "El bautizo es el 3 de mayo y la boda el 9 de junio",
            ["El bautizo es el 3 de mayo", "La boda es el 9 de junio"],
        ),
        # One fact.
        ("I have choir on Mondays and Fridays", ["I have choir on Mondays and Fridays"]),
        ("I have a bike and a van", ["I have a bike and a van"]),
        # What two beings do on a day each, or have of one kind.
        (
            "Nell does tap on Mondays and Joe has fencing on Fridays",
            ["Nell does tap on Mondays", "Joe has fencing on Fridays"],
        ),
        (
            "we have three children: Joe is 9, Nell is 6 and baby Al is 8 months",
            ["We have three children: Joe, Nell and Al", "My child Joe is 9"]
            + ["My child Nell is 6", "My child Al is 8 months"],
        ),
        ("my son Joe is 6 and my niece Nell 9", ["My son Joe is 6", "My niece Nell is 9"]),
        ("I've got a Mini and my dad a Volvo", ["I've got a Mini", "My dad has a Volvo"]),
        ("tengo un Fiat y mi suegra un Kia", ["Tengo un Fiat", "Mi suegra tiene un Kia"]),
        ("tengo 41 y mi marido 39", ["Tengo 41", "Mi marido tiene 39"]),
        (
            "my first lecture is on Monday and the second is on Friday",
            ["My first lecture is on Monday", "The second lecture is on Friday"],
        ),
        (
            "I live in Bray with my wife Jo and our two sons, Al and Ned",
            ["I live in Bray with my wife Jo", "We have two sons, Al and Ned"],
        ),
    ],
)
def test_each_of_several_things_is_a_fact(text: str, statements: list[str]) -> None:
    assert read_history([text]).current == statements


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        (["I own a moped and a folding canoe", "I sold the canoe"], "I own a moped"),
        (["I own a moped and a folding canoe", "the moped got stolen"], "I own a folding canoe"),
        (
            ["I take iron at noon, zinc at one and ramipril at night", "I've stopped the zinc"],
            "I take iron at noon and ramipril at night",
        ),
        (["Crío patos y ocas", "vendí los patos"], "Crío ocas"),
        (
            ["Tengo cuenta en el BBVA y otra en Abanca", "cerré la cuenta del BBVA"],
            "Tengo cuenta en Abanca",
        ),
        (["I keep ducks and geese", "I sold half the ducks"], "I keep ducks and geese"),
        (
            ["Tenemos dos hijos: Bruno, de 7 años, y Nora, de 4", "Ya no llevo a Bruno a judo"],
            "Bruno tiene 7 años",
        ),
        (
            ["I work at Lidl on Mondays", "I work at the zoo on Sundays"],
            "I work at Lidl on Mondays",
        ),
    ],
)
def test_what_is_left_of_several_things_stays(messages: list[str], left: str) -> None:
    assert left in read_history(messages).current


@pytest.mark.parametrize(
    ("told", "question", "answers"),
    [
        (
            ["I drive for Bolt and Cabify", "Bolt blocked my account last night"],
            "do I still drive for Bolt?",
            {"I drive for Bolt and Cabify", "Bolt blocked my account last night"},
        ),
        (
            ["I play squash on Mondays", "I play rugby on Fridays"],
            "what sports do I play?",
            {"I play squash on Mondays", "I play rugby on Fridays"},
        ),
        (
            ["I take ramipril at noon", "I take zolpidem at night", "I've stopped the zolpidem"],
            "what do I take?",
            {"I take ramipril at noon"},
        ),
        (
            ["Tengo un loro que se llama Coco", "Tengo una gata que se llama Dot"],
            "¿qué animales tengo?",
            {"Tengo un loro que se llama Coco", "Tengo una gata que se llama Dot"},
        ),
        (["My flatmate is Bea", "I work with Gus"], "who do I live with?", {"My flatmate is Bea"}),
    ],
)
def test_a_question_for_several_things_has_several_answers(
    told: list[str], question: str, answers: set[str]
) -> None:
    candidates = with_closed([Candidate(text=one) for one in told])

    assert {one.text for one in find_answers(question, candidates)} == answers
