"""Lists of a person, and what is added to them and taken off."""

from __future__ import annotations

import pytest

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
