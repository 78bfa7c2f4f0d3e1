"""Changes of facts: corrections, announced changes, and what is over."""

from __future__ import annotations

import time

import pytest

from spade_llm.understanding.replacement import Statement, are_two_of_a_kind, replaces
from spade_llm.understanding.statements import read_history, read_message


def test_a_value_alone_is_about_the_latest_statement() -> None:
    for told, changed, holds in (
        ("The fair is on Monday", "it's on Sunday now", "The fair is on Sunday"),
        ("La feria es el lunes", "al final es el domingo", "La feria es el domingo"),
        ("La feria es el lunes", "ha cambiado, ahora es el domingo", "La feria es el domingo"),
        ("Our goat is called Bea", "changed my mind, she's called Ada", "Our goat is called Ada"),
    ):
        other = "My aunt's birthday is on 9 July, her cat is called Gus"

        assert holds in _current(other, told, changed)
        assert _current(other)[0] in _current(other, told, changed)


def test_what_is_sold_is_the_thing_that_is_named() -> None:
    current = _current("My wife drives a Volvo", "I drive a Fiesta", "sold the Fiesta, got a Skoda")

    assert "My wife drives a Volvo" in current
    assert "I drive a Fiesta" not in current


def _current(*messages: str) -> list[str]:
    return read_history(messages).current


@pytest.mark.parametrize(
    ("earlier", "text", "holds"),
    [
        # The new part says only a value: it takes the old one's place.
        ("I rent from Acme Homes", "changed landlord, I'm with Casa Ltd now", "Casa Ltd"),
        ("My locker is number 41", "got a new locker, it's 77 now", "My locker is number 77"),
        ("Juego en el Betis B", "he cambiado de equipo, ahora en el Cádiz", "el Cádiz"),
        # It says more: it stays as it is, with the topic behind it.
        ("I study law in Leeds", "dropped out of law, I bake bread now", "(study)"),
        ("We keep hens", "sold the hens and bought two goats", "ought two goats"),
        # The value that is named is replaced, of several the one behind the name.
        ("Tom is 4, my niece is 8", "my niece turned 9", "My niece is 9"),
        ("I drive a Polo", "swapped the Polo for a Leon", "I drive a Leon"),
        ("Quedamos el lunes", "en vez del lunes, el jueves", "el jueves"),
        ("I row on Sundays", "quit rowing, now I jog", "jog"),
        ("Mi tutor es Bruno", "echaron a Bruno, el tutor es Saúl", "Mi tutor es Saúl"),
        ("My barber is Mr Pratt", "Mr Pratt has the flu, so Mr Lal cuts my hair now", "Mr Lal"),
        ("Compro la fruta en Casa Lola", "cerró Casa Lola, voy a Frutas Ana", "en Frutas Ana"),
        ("Mi taquilla es la 210", "me asignaron otra taquilla, la 318", "Mi taquilla es la 318"),
        ("Ceno sopa de ajo en casa", "cambié la sopa por fruta", "Ceno fruta en casa"),
        ("Tengo un Nokia", "se me rompió, ahora uso un Honor", "Honor"),
        ("My scooter is green", "I sprayed it orange", "My scooter is orange"),
        ("The locker code is 5512", "whoops, 5521", "The locker code is 5521"),
        ("Mi cuenta es @lia.cose", "me la robaron, ahora es @lia.teje", "@lia.teje"),
        (
            "My son Aled goes to Glan Ely",
            "Aled left Glan Ely, he's at Plasmawr now",
            "Aled goes to",
        ),
        ("Our milkman is Sid", "Sid has moved away. The new one is called Lou", "milkman is Lou"),
        ("Mi casera es Rita", "Rita vendió el piso. La nueva se llama Inma", "casera es Inma"),
        ("The vet's at half nine", "the vet's moved to ten to eight", "at ten to eight"),
        # The whole noun phrase or list of values; the clause itself where it says more.
        (
            "My bike is a rusty Raleigh",
            "swapped the Raleigh for a folding Brompton",
            "a folding Bro",
        ),
        (
            "The bins go out on Monday and Friday",
            "the bins now go out on Tuesday and Thursday",
            "ay and",
        ),
        ("Leo el Quijote", "acabé el Quijote, ahora estoy con Niebla espesa", "Niebla espesa"),
        ("The shed code is moss-fern-41", "the shed code is now dune-reed-52", "is dune-reed-52"),
        # Words of one class, and numbers in words.
        ("My parrot eats apple", "no, banana", "eats banana"),
        ("I drink cocoa at night", "I've switched to tea", "I drink tea at night"),
        ("I do karate on Fridays", "stopped karate and started judo", "I do judo on Fridays"),
        ("We keep six ducks", "a fox came, so there are four ducks", "four ducks"),
        # A name that is spelled otherwise.
        ("My tutor is called Jon", "it's John, with an h", "called John"),
        # One being takes over from another.
        ("Our coach is Olga", "Petra took over from Olga", "Our coach is Petra"),
        ("Mi tutora es Olga", "Petra ha sustituido a Olga", "Mi tutora es Petra"),
        # Repeated with less around it.
        ("The call with the bank about the loan is on Monday", "the call is on Friday", "loan"),
    ],
)
def test_what_holds_after_a_change(earlier: str, text: str, holds: str) -> None:
    current = _current(earlier, text)

    assert earlier not in current
    assert any(holds in one for one in current), current


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ("I sing in a choir on Fridays", "packed in the choir, no time"),
        ("I have a Netflix subscription", "cancelled Netflix"),
        ("Salgo con Irene", "corté con Irene"),
        ("Tengo un abono del gimnasio", "me he dado de baja del gimnasio"),
        ("My parrot is called Coco", "Coco died in spring"),
        ("I owe Baz 40 quid", "paid Baz back"),
        ("Mañana tengo dentista", "al final no voy, lo he anulado"),
        ("My daughter Ellie's doing physics", "she's switched to maths"),
    ],
)
def test_what_is_over_holds_no_more(earlier: str, text: str) -> None:
    assert earlier not in _current(earlier, text)


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ("My red kite is in the attic", "my green kite is in the shed"),
        ("Mi prima Eva vive en Lugo", "mi prima Sol vive en Soria"),
        ("I have a meeting with Ana on Monday", "I sold my bike"),
        ("I live in Leeds", "I lost my phone in Leeds"),
        ("My car is a Ford", "I moved the car, I'm at home now"),
        ("I play the flute", "I don't play chess"),
        ("Trabajo en Renfe", "ya no fumo, llevo tres meses limpio"),
        ("Mi paga es en noviembre", "no llega para nada"),
        ("Hago pilates con Malena", "mejor así"),
        ("My bench press is 85", "hit a new squat record today, 132.5!"),
        ("My car is a Ford", "my sister sold her car"),
    ],
)
def test_what_is_said_of_something_else_changes_nothing(earlier: str, text: str) -> None:
    assert earlier in _current(earlier, text)


def test_one_of_several_things_is_over() -> None:
    current = _current("Our fish are Salt and Vinegar", "Vinegar died")

    assert "Our fish are Salt" in current


def test_the_other_half_of_a_double_statement_stays() -> None:
    current = _current("Tom plays chess and Mia plays golf", "Mia gave up golf")

    assert "Tom plays chess" in " ".join(current)


def test_a_named_being_keeps_its_role() -> None:
    current = _current("My cousin Ada lives in Lima", "Ada moved to Quito")

    assert "My cousin Ada lives in Quito" in current or "My cousin Ada moved to Quito" in current


def test_another_person_of_the_same_name_is_told_apart() -> None:
    current = _current("My sister Eva lives in Bonn", "My boss Eva lives in Essen")

    assert len(current) == 2


def test_a_correction_behind_a_joke_counts() -> None:
    assert _current("I support Leeds", "just kidding, I support Hull") == ["I support Hull"]


def test_a_pronoun_means_what_was_spoken_of_last() -> None:
    current = _current("We bought a flat in Vigo", "I live there now")

    assert "I live in Vigo now" in current


@pytest.mark.parametrize(
    ("earlier", "messages", "holds"),
    [
        # In one message, with the reason or without what they share.
        ("Gus walks our dog", ["Gus broke his leg, so Iris is stepping in"], "Iris walks our dog"),
        ("Mi profe de piano es Raúl", ["Raúl se jubiló, ahora me enseña Inés"], "es Inés"),
        # The place is taken in the next message.
        ("Our choirmaster is Bram", ["Bram has emigrated", "Ottilie takes over"], "is Ottilie"),
    ],
)
def test_one_being_takes_the_place_of_another(
    earlier: str, messages: list[str], holds: str
) -> None:
    current = _current(earlier, *messages)

    assert earlier not in current
    assert any(holds in one for one in current), current


@pytest.mark.parametrize(
    "messages",
    [
        # A sister has no successor.
        ["My sister is called Ana", "Ana moved to Bonn, so Pedro waters the plants"],
        ["Gus walks our dog", "Gus broke his leg, so Iris is sad"],
        ["Gus walks our dog", "Gus is away and Iris walks it too"],
        # What is over for another person.
        ["The clinic is in Oak Street", "Ines left the clinic"],
        ["My brother is in hospital", "I'm home already"],
    ],
)
def test_what_holds_for_others_is_left(messages: list[str]) -> None:
    assert messages[0] in _current(*messages)


@pytest.mark.parametrize(
    ("earlier", "event"),
    [
        ("My niece is pregnant", "she had a little girl on Monday"),
        ("My uncle is in hospital", "my uncle came home last night"),
        ("Mi perro está enfermo", "ya está mejor"),
        ("I'm on antibiotics", "I finished the course"),
    ],
)
def test_an_event_ends_a_state(earlier: str, event: str) -> None:
    assert earlier not in _current(earlier, event)


def test_two_of_a_kind_have_different_words_beside_the_same_noun() -> None:
    assert are_two_of_a_kind("my red kite is torn", "my green kite is new")
    assert not are_two_of_a_kind("my new phone is 1234", "my phone is 5678")
    assert not replaces(Statement(text="my new kite is green"), "my brother is tall")


def test_a_message_is_read_in_a_few_milliseconds() -> None:
    known = [f"My colleague number {number} is called Ana{number}" for number in range(12)]
    read_message("warm-up", known)

    started_s = time.perf_counter()
    for number in range(100):
        read_message(f"changed jobs, I'm with Acme {number} now", known)
    assert time.perf_counter() - started_s < 2.0


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ("My hamster's called Nib", "next door's hamster died last night, they're in bits"),
        ("Trabajo en Correos", "a mi prima la han despedido de Zara"),
        ("Our gardener is Ania", "Ania moved to Leeds"),
        ("My hamster Nib died in May", "the new hamster is called Tug"),
        ("My aunt's called Bo", "we got a collie, she's called Fay"),
    ],
)
def test_what_is_said_of_another_being_changes_nothing(earlier: str, text: str) -> None:
    assert earlier in _current(earlier, text)
