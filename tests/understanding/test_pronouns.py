"""Pronouns: what they mean in the statements before them."""

from __future__ import annotations

import pytest

from spade_llm.understanding.pronouns import antecedent, leading_noun, noun_phrases, with_asked
from spade_llm.understanding.replacement import replaces
from spade_llm.understanding.statements import read_message, statements_of


@pytest.mark.parametrize(
    ("statement", "nouns"),
    [
        ("My late uncle Bert kept bees", ["my late uncle Bert"]),
        ("We bought a wooden canoe with Ravi", ["wooden canoe", "Ravi"]),
        ("The sweep's coming to our flat", ["the sweep", "our flat"]),
        # Names of places are no beings; the first word is a name only if it has no other meaning.
        ("Cara moved to Leeds", ["Cara"]),
        ("Mi prima Luz cuida a Berta", ["mi prima Luz", "Berta"]),
        # A being of another one, of whom `she` may be said; not what an owner is or has.
        ("Ida's mum Berta is staying with us", ["Ida's mum", "Berta"]),
        ("Ole's ill and Ole's canoe leaks", ["Ole", "Ole"]),
        # A contraction is no name, and the second word of a place neither.
        ("Memory clinic is at Oak Hospital", ["Memory clinic"]),
        ("They've got the flu at Ward Six", ["the flu"]),
        # A name that looks like a verb.
        ("My son Ned is six", ["my son Ned"]),
        # What has a profession is a person.
        ("Grant is a welder in our yard", ["Grant", "our yard"]),
        # A clitic is no article.
        ("A mi perro lo pasea Nuria", ["mi perro", "Nuria"]),
    ],
)
def test_noun_phrases_are_found(statement: str, nouns: list[str]) -> None:
    assert [one.text for one in noun_phrases(statement)] == nouns


@pytest.mark.parametrize(
    ("known", "text", "noun"),
    [
        (
            ["My niece Ida has a ferret", "My nephew Ole rows"],
            "she feeds it at six",
            "my niece Ida",
        ),
        (["I restored an old loom"], "I keep it in the barn", "old loom"),
        (["My aunt lives in Bray"], "I phone her on Sundays", "my aunt"),
        (["Mi abuelo está en la clínica"], "lo atiende la doctora Paz", "mi abuelo"),
        # A noun of the clause itself comes first.
        (["My aunt lives in Bray"], "my sister lost her coat", ""),
        (["I'm doing a course"], "I can't have shellfish, it makes me ill", ""),
        (["I'm doing a course"], "I don't drink coffee because it keeps me awake", ""),
        (["I'm doing a course"], "I gave up running, it hurt my knees", ""),
        (["I'm doing a course"], "I love it", "course"),
        # Of two that fit, the one that was spoken of last.
        (["Our son is three", "We have a ferret called Dot"], "she bit the postman", "ferret Dot"),
        # A thing that is taken or driven is no being; a person who is taken along is one.
        (["My son takes Zocor", "My mum takes Plavix 75"], "he lives in Bray", "my son"),
        (["Mi hijo toma Zocor", "Mi tía conduce un Ibiza"], "él vive en Vigo", "mi hijo"),
        (["My son rows", "My mum takes Ole to school"], "he lives in Bray", "Ole"),
        # What has a name need not be a being; a name at the beginning is one, if it was told.
        (["My boss is called Ida", "My gym is called Fit Zone"], "she is strict", "my boss Ida"),
        (
            ["We've got a toddler, Ole", "Our nursery is called The Acorns", "Ole starts in May"],
            "he hates peas",
            "Ole",
        ),
        (["I'm doing a course"], "I paid half of it", ""),
        # What rains is nothing that was spoken of.
        (["I restored an old loom"], "it rains a lot", ""),
    ],
)
def test_a_pronoun_means_the_noun_that_fits(known: list[str], text: str, noun: str) -> None:
    assert antecedent(text, known)[0] == noun


def test_the_noun_stands_behind_what_refers_to_it() -> None:
    told = statements_of(["We have a canoe, a Prijon", "I paid 640 for it"])

    assert told[-1] == "I paid 640 for it (canoe)"


def test_its_means_the_thing_that_the_clause_begins_with() -> None:
    told = statements_of(["The Skoda's at the garage", "Deano's van failed its MOT"])

    assert told[-1] == "Deano's van failed its MOT"


def test_the_noun_ends_before_an_adverb() -> None:
    told = read_message("I saw the GP again, she's pleased").statements

    assert told[-1].text == "The GP's pleased"


def test_there_is_the_place_that_was_told_before() -> None:
    told = statements_of(["Our gym is called Fit Zone", "Ole goes there on Mondays"])

    assert told[-1] == "Ole goes there on Mondays (our gym Fit Zone)"


def test_the_future_of_a_pronoun_is_told_with_its_noun() -> None:
    told = statements_of(["We've got a niece, Ida, she'll be nine in May"])

    assert told == ["We've got a niece, Ida", "Niece Ida will be nine in May"]


def test_the_rabbit_gets_another_name() -> None:
    before = "My nephew Ole has a rabbit called Dot"
    (statement,) = read_message("he's started calling it Moss", [before]).statements

    assert replaces(statement, before)


def test_a_question_is_asked_with_the_noun_of_its_pronoun() -> None:
    assert with_asked("where does she live?", ["my aunt Maud knits"]).endswith("my aunt Maud")


def test_a_question_for_more_is_asked_with_the_message_before_it() -> None:
    assert with_asked("¿y en qué ciudad?", ["mi tía estudia física"]).endswith(
        "mi tía estudia física"
    )
    # Spanish needs no pronoun.
    asked = with_asked("¿de qué color es?", ["el coche es un Ibiza rojo", "¿qué coche tengo?"])
    assert "coche" in asked
    assert with_asked("¿qué día es?", ["el coche es rojo"]) == "¿qué día es?"
    assert with_asked("and where does Ana live?", ["my aunt knits"]) == "and where does Ana live?"


@pytest.mark.parametrize(
    ("asked", "question", "whole"),
    [
        ("¿dónde vivo ahora?", "¿y antes?", "¿dónde vivo antes?"),
        ("where do I work?", "and before?", "where do I work before?"),
        ("where does Ben live?", "and Emma?", "where does Emma live?"),
        ("where does my brother live?", "and my sister Ann?", "where does my sister Ann live?"),
        ("¿dónde vive mi mejor amigo?", "¿y mi compadre?", "¿dónde vive mi compadre?"),
        ("¿cuándo sale el vuelo a Lima?", "¿y el de Cusco?", "¿cuándo sale el vuelo de Cusco?"),
        ("¿cuándo es la cita del DNI?", "¿y la del notario?", "¿cuándo es la cita del notario?"),
        ("what do I do on Mondays?", "and on Tuesdays?", "what do I do on Tuesdays?"),
        ("where do I work?", "really?", "really?"),
    ],
)
def test_a_question_that_names_only_a_time_or_a_being_is_the_one_before_it(
    asked: str, question: str, whole: str
) -> None:
    assert with_asked(question, [asked]) == whole


def test_the_rest_of_a_clause_behind_its_subject_has_no_subject() -> None:
    assert leading_noun("'s moved to Delft") is None


@pytest.mark.parametrize(
    ("known", "text"),
    [
        # Its own sentence has what the pronoun means, or it means nothing.
        ("We have a new driver, Sue", "a customer told me she went vegan because of a film"),
        ("Mi gata Moka es diabética", "le debo 60 euros a irati de la luz"),
        ("Rico vive en Zaragoza", "la del cuarto dice que en su pueblo vio un zorro"),
        ("Our tyler plays for the under 12s", "Mrs Pratt wants it doing on Friday"),
    ],
)
def test_a_pronoun_that_means_nothing_of_an_earlier_statement(known: str, text: str) -> None:
    assert read_message(text, [known]).statements[0].text.lower().startswith(text[:12].lower())
    assert "(" not in read_message(text, [known]).statements[0].text


@pytest.mark.parametrize(
    ("known", "message", "told"),
    [
        # A Spanish verb without a subject is said of the being that was spoken of last.
        ("Mi nieta se llama Irene", "colecciona sellos", "Mi nieta Irene colecciona sellos"),
        ("Mi nieta se llama Irene", "nació el 2 de junio", "Mi nieta Irene nació el 2 de junio"),
        ("Mi nieta se llama Irene", "saca buenas notas", "Mi nieta Irene saca buenas notas"),
        ("Mi nieta se llama Irene", "su boda es en mayo", "La boda de mi nieta Irene es en mayo"),
        ("Tengo un loro", "su jaula es verde", "La jaula de mi loro es verde"),
        # What has another subject is not.
        ("La caldera va mal", "se rompió ayer", "Se rompió ayer (caldera)"),
        # The name is of one sex; a role comes before a name that is another word.
        ("My aunt's husband is called Rob", "he rows", "My aunt's husband Rob rows"),
        ("My nephew is called Mark", "Mark's a baker", "my nephew Mark's a baker"),
    ],
)
def test_a_message_is_told_of_the_being_that_it_means(known: str, message: str, told: str) -> None:
    statements = read_message(message, [known]).statements
    assert [one.text.lower() for one in statements] == [told.lower()]


@pytest.mark.parametrize(
    ("known", "message", "told"),
    [
        (["Mi tío rema", "Mi nieta es dentista"], "vive en Vigo", "Mi nieta vive en Vigo"),
        (
            ["Mi tío rema los lunes", "Mi nieta se llama Irene"],
            "nació el 2 de junio",
            "Mi nieta Irene nació el 2 de junio",
        ),
    ],
)
def test_of_two_beings_the_latest_is_meant(known: list[str], message: str, told: str) -> None:
    assert [one.text for one in read_message(message, known).statements] == [told]


def test_the_object_is_not_the_subject_of_its_clause() -> None:
    known = ["My dad Gwyn is 80"]

    told = read_message("my brother Huw sits with him on Saturdays", known).statements
    assert [one.text for one in told] == ["My brother Huw sits with him on Saturdays (my dad Gwyn)"]
    # The owner of the subject may be meant.
    told = read_message("Tim's boss has him in Perth", known).statements
    assert [one.text for one in told] == ["Tim's boss has him in Perth"]
