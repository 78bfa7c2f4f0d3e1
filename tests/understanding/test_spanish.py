"""Spanish as people type and speak it: on a phone, with `vos` and `usted`, in long sentences."""

from __future__ import annotations

import pytest

from spade_llm.providers.offline.intents import RecallIntent, recognise_intent
from spade_llm.search.language import language_of
from spade_llm.understanding.answers import find_answers, is_repeated, with_closed
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.forgetting import read_forget_request
from spade_llm.understanding.questions import Candidate, is_about_speaker
from spade_llm.understanding.spelling import plain_spanish
from spade_llm.understanding.statements import read_history, read_message, statements_of
from spade_llm.understanding.wording import in_second_person, speaks_of_us, uses_ustedes


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("xq no m gusta el pan d molde", "porque no me gusta el pan de molde"),
        ("dnd aparco?", "donde aparco?"),
        ("me han despedio, he currao mucho", "me han despedio, he currado mucho"),
        ("¿Vos sabés dónde aparco?", "¿Sabes dónde aparco?"),
        ("¿Podés contarme algo?", "¿Puedes contarme algo?"),
        ("¿Se acuerda usted de mi gato?", "¿Te acuerdas de mi gato?"),
        ("¿Qué le conté de Bruno?", "¿Qué te conté de Bruno?"),
        ("Dígame la talla de Bruno", "Dime la talla de Bruno"),
        # A name shows itself by what stands around it.
        ("ceno con mi primo bruno los lunes", "ceno con mi primo Bruno los lunes"),
        ("mis gatas se llaman cleo y nora", "mis gatas se llaman Cleo y Nora"),
        ("irene se ha casado", "Irene se ha casado"),
        ("mi tía friega los platos", "mi tía friega los platos"),
        ("mi abuela canta bien", "mi abuela canta bien"),
        ("holaaa q tal", "hola que tal"),
        ("tengo 19 y vivo sola", "tengo 19 años y vivo sola"),
        ("vence el 3 d mayo", "vence el 3 de mayo"),
        ("vivo con dos amigas, irene y berta", "vivo con dos amigas, Irene y Berta"),
        # Other languages, and letters that are letters.
        ("I take vitamin d, he sold x of them", "I take vitamin d, he sold x of them"),
        ("tomo vitamina d y hierro", "tomo vitamina d y hierro"),
        ("Irene sabe dónde aparco", "Irene sabe dónde aparco"),
        ("recuerda que el trastero es el 9", "recuerda que el trastero es el 9"),
    ],
)
def test_what_is_abbreviated_or_said_to_vos_and_usted_is_read(text: str, plain: str) -> None:
    assert plain_spanish(text) == plain
    assert plain_spanish(plain) == plain


@pytest.mark.parametrize(
    "text",
    ["q sabes d mi?", "¿Qué sabés de mí?", "¿Qué sabe usted de mí?", "Hola, ¿te acordás de mí?"],
)
def test_everybody_may_ask_what_is_known(text: str) -> None:
    assert recognise_intent(text) == RecallIntent(topic="")


@pytest.mark.parametrize(
    "text",
    [
        "Los jueves llevo a Nora a judo a las 6",
        "Empecé a nadar",
        "Ya no salgo a correr",
        "me he apuntao a inglés",
    ],
)
def test_spanish_is_recognized_by_its_accents(text: str) -> None:
    assert language_of(plain_spanish(text)) == "es"


@pytest.mark.parametrize("text", ["I had a café au lait", "José is my dentist", "give me a list"])
def test_english_stays_english(text: str) -> None:
    assert language_of(text) == "en"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Mi cuñado se llama Saúl y es fontanero, vive en Ronda",
            ["Mi cuñado se llama Saúl", "Mi cuñado es fontanero", "Mi cuñado vive en Ronda"],
        ),
        ("Nora es celíaca y usa gafas", ["Nora es celíaca", "Nora usa gafas"]),
        ("El martes viene Ana y cena con nosotros", ["El martes viene Ana y cena con nosotros"]),
        (
            "Tengo una prima que vive en Jaén, se llama Nora",
            ["Tengo una prima que se llama Nora y vive en Jaén"],
        ),
        (
            "Tengo un vecino, Saúl, es pintor",
            ["Tengo un vecino, Saúl", "Mi vecino Saúl es pintor"],
        ),
        (
            "Por las mañanas tomo ramipril y por las noches una de zolpidem",
            ["Por las mañanas tomo ramipril", "Por las noches tomo una de zolpidem"],
        ),
        (
            "Mi suegro vive en una residencia, se llama Abel y tiene 81 años",
            ["Mi suegro vive en una residencia", "Mi suegro se llama Abel"]
            + ["Mi suegro tiene 81 años"],
        ),
        (
            "Tengo que avisar al electricista, su número es el 600 11 22 33",
            ["Tengo que avisar al electricista", "El número del electricista es el 600 11 22 33"],
        ),
        (
            "Tengo dos hermanas: la mayor, Irene, que es juez; y la pequeña, Nora, que va a Vigo",
            ["Tengo dos hermanas", "Mi hermana mayor, Irene, es juez"]
            + ["Mi hermana pequeña, Nora, va a Vigo"],
        ),
        (
            "Mi tía Nora tiene asma y se pone una vacuna al mes",
            ["Mi tía Nora tiene asma", "Mi tía Nora se pone una vacuna al mes"],
        ),
        (
            "Curro tiene ocho años y Nora va a cumplir tres",
            ["Curro tiene ocho años", "Nora va a cumplir tres"],
        ),
        # A pronoun that only repeats who is named in the clause means nobody else.
        ("Le regalé una bufanda a Saúl", ["Le regalé una bufanda a Saúl"]),
        ("A Saúl no le gusta el queso", ["A Saúl no le gusta el queso"]),
    ],
)
def test_each_fact_of_a_sentence_is_told_by_itself(text: str, told: list[str]) -> None:
    known = ["Mi prima Berta toca la viola"]

    assert [one.text for one in read_message(text, known).statements] == told


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        (
            "Trabajo en una tienda que se llama El Faro",
            "tengo un gato, se llama Momo y es un siamés",
        ),
        ("Tengo 51 años", "Tenemos dos hijas: Irene, de 12 años, y Nora, de 9"),
        ("Entreno a vóley los lunes a la noche", "me pasaron el turno del oculista para el jueves"),
        (
            "Mi nieto me regaló la tele",
            "Mi nieta Irene, la de Berta, se examina el 3 de marzo en Cádiz",
        ),
        ("Mi marido se llama Saúl", "Saúl se quedó sin trabajo"),
        ("Mi padre se llama Saúl", "Mi padre se jubiló en enero"),
        ("El doctor me ha dicho que no puedo tomar aspirina", "ya no puedo con las maletas"),
        ("Tenemos dos hijos: Bruno, que pinta, y Nora", "Ya no llevo a Bruno a judo"),
        ("Por las mañanas tomo ramipril", "El médico me ha quitado el zolpidem"),
        ("Vivo con dos amigas, Irene y Berta", "Saúl y yo hemos cortado"),
        ("Mi tía vive en Vigo con una cuidadora", "Tere renunció, ahora la ayuda una chica, Olga"),
        ("No puedo comer marisco", "he dejado el marisco de la lonja"),
        ("Tengo cincuenta años", "Curro ha cumplido nueve años el domingo"),
        (
            "Tenemos una nieta, Irene, que vive en Vigo con su novio",
            "Irene y su novio lo han dejado",
        ),
    ],
)
def test_what_is_said_of_something_else_leaves_the_fact(earlier: str, message: str) -> None:
    assert earlier in statements_of([earlier, message])


@pytest.mark.parametrize(
    ("earlier", "message", "holds"),
    [
        (
            "El 9 de mayo es la asamblea",
            "la asamblea se pasó para el 16",
            "El 16 de mayo es la asamblea",
        ),
        (
            "Los lunes viene Berta y le pago doce euros la hora",
            "Le he subido el sueldo a Berta a catorce euros la hora",
            "catorce euros la hora",
        ),
        (
            "Mi sobrina Irene se casa el 2 de mayo en Ronda",
            "Han aplazado la boda de Irene al 7 de junio porque llueve mucho",
            "se casa el 7 de junio en Ronda",
        ),
        ("Mi tía vive con nosotros", "Mi tía ya se fue a vivir con mi primo a Vigo", "a Vigo"),
        (
            "Los lunes llevo a Bruno a ajedrez",
            "Ya no llevo a Bruno a ajedrez, ahora va a esgrima los martes",
            "Bruno ahora va a esgrima los martes",
        ),
        ("Mi coche es un Ford azul, matrícula 1122 BCD", "vendí el Ford y compré un Kia", "Kia"),
        (
            "Él trabaja en Boots (mi marido Saúl)",
            "Mi marido Saúl se quedó sin trabajo",
            "sin trabajo",
        ),
        (
            "Tomo ramipril por la mañana y zolpidem por la noche",
            "he dejado el zolpidem",
            "ramipril",
        ),
        ("Curro tiene ocho años", "Curro ha cumplido nueve años el domingo", "Curro tiene nueve"),
        (
            "Mi suegro Saúl está ingresado en el hospital",
            "A Saúl ya le han dado el alta",
            "mi suegro Saúl ya le han dado el alta",
        ),
        ("Trabajo de camarera en un bar", "me echaron del bar, ahora trabajo en un hotel", "hotel"),
        ("Le dan ramipril y zolpidem cada día", "Le quitaron el zolpidem", "Le dan ramipril cada"),
        ("El alquiler del taller es de 900 euros", "Subieron el alquiler del taller a 950", "950"),
        ("La revisión es el 3 de mayo a las 9", "Corrieron la revisión para el 10", "10 de mayo"),
        ("Vivo con dos amigas, Irene y Berta", "Irene se ha ido del piso", "una amiga, Berta"),
        ("Tengo novio, se llama Saúl", "Saúl y yo hemos cortado", "hemos cortado"),
        ("Tengo que renovar el carnet en junio", "Ya he renovado el carnet", "Ya he renovado"),
        (
            "Por la noche tomo media de zolpidem",
            "me han quitado el zolpidem y ahora me han dado doxepina",
            "media de doxepina",
        ),
        (
            "Voy al gimnasio los lunes",
            "he dejado el gimnasio y ahora nado los jueves",
            "nado los jueves",
        ),
    ],
)
def test_a_change_in_everyday_words_is_one(earlier: str, message: str, holds: str) -> None:
    current = statements_of([earlier, message])

    assert earlier not in current
    assert holds in " ".join(current)


def test_a_new_age_reaches_what_another_conversation_told() -> None:
    told = read_message("hoy cumplo 31", [], ["Mi gata tiene 9 años", "Tengo 30 años"]).statements

    assert [(one.text, one.replaced) for one in told] == [("Tengo 31 años", "Tengo 30 años")]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["A papá lo ingresaron ayer", "Le dan heparina"], "Le dan heparina (papá)"),
        (["Mi hijo Saúl estudia en Vigo; está en tercero"], "Mi hijo Saúl está en tercero"),
    ],
)
def test_who_has_just_been_spoken_of_is_meant(messages: list[str], told: str) -> None:
    assert told in statements_of(["Berta es alérgica a la aspirina", *messages])


@pytest.mark.parametrize(
    ("question", "is_own"),
    [
        ("¿a qué hora es el descanso?", False),
        ("¿está limpio el coche?", False),
        ("¿cuándo descanso?", True),
        ("¿en qué ciudad reparto?", True),
    ],
)
def test_a_noun_that_is_also_a_verb_is_not_about_the_speaker(question: str, is_own: bool) -> None:
    assert is_about_speaker(question) == is_own


def test_a_task_is_no_habit() -> None:
    task = "I have to call Ann"

    assert task in statements_of([task, "I call Ann every day"])


def test_nothing_of_the_old_thing_is_said_of_the_new_one() -> None:
    told = ["Mi coche es un Ford azul, matrícula 1122 BCD", "vendí el Ford y compré un Kia rojo"]

    text = " ".join(statements_of(told))

    assert "azul" not in text
    assert "1122" not in text


@pytest.mark.parametrize(
    "text",
    [
        "Buenas tardes, soy Irene otra vez.",
        "Que Dios se lo pague, hija.",
        "Que pase buena tarde",
        "Quede usted con Dios",
        "Ay, hijo, qué frío hace hoy, no hay quien salga.",
    ],
)
def test_greetings_and_sighs_tell_nothing(text: str) -> None:
    assert {one.kind for one in split_clauses(text)} == {ClauseKind.SMALL_TALK}


@pytest.mark.parametrize(
    "text",
    [
        "A lo mejor nos mudamos a Vigo",
        "Capaz que dejo el inglés",
        "Puede que venda la moto",
        "Si vendiéramos la casa nos iríamos al sur",
    ],
)
def test_what_only_may_be_is_no_fact(text: str) -> None:
    assert not read_message(text).statements


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (
            ["La doctora Vidal es la alergóloga", "Mis hijas van a la escuela Sol"],
            "¿Quién es la alergóloga de mis hijas?",
            "La doctora Vidal es la alergóloga",
        ),
        (
            ["Juego al pádel los lunes", "Toco la viola en un cuarteto"],
            "¿Qué toco?",
            "Toco la viola en un cuarteto",
        ),
        (
            ["El médico me ha dicho que no puedo tomar aspirina", "Ahora me ha mandado omeprazol"],
            "¿Puedo tomar aspirina?",
            "El médico me ha dicho que no puedo tomar aspirina",
        ),
        (
            ["Ya no llevo a Bruno a ajedrez", "Bruno va a judo los martes"],
            "¿Qué deporte hace Bruno?",
            "Bruno va a judo los martes",
        ),
        (
            ["Mi prima Nora y yo lo hemos dejado", "Salgo con una chica, Irene"],
            "¿Cómo se llama mi novia?",
            "Salgo con una chica, Irene",
        ),
    ],
)
def test_what_is_asked_is_answered(told: list[str], question: str, answer: str) -> None:
    candidates = with_closed([Candidate(text=one) for one in statements_of(told)])

    assert find_answers(question, candidates)[0].text == answer


def test_all_medicines_are_told() -> None:
    told = ["Por las mañanas tomo un ramipril", "Por las noches tomo media de zolpidem"]

    found = find_answers(
        "¿Qué medicinas tomo?", [Candidate(text=one) for one in [*told, "Tomo té"]]
    )

    assert told[0] in {one.text for one in found}


@pytest.mark.parametrize("question", ["¿Qué tengo que hacer?", "What do I have to do?"])
def test_tasks_are_told(question: str) -> None:
    told = ["Tengo que avisar al electricista", "Soy viuda", "I have to renew my passport"]

    found = find_answers(question, [Candidate(text=one) for one in told])

    assert [one.text for one in found] == [told[0], told[2]]


def test_years_of_work_are_no_age() -> None:
    told = ["Tengo cincuenta y dos años", "He sido taxista treinta años, y ahora tengo un quiosco"]

    found = find_answers("¿Cuántos años tengo?", [Candidate(text=one) for one in told])

    assert [one.text for one in found] == told[:1]


def test_an_end_is_not_ended_by_itself() -> None:
    told = ["Mi novia Berta y yo lo hemos dejado", "Berta y yo lo hemos dejado"]

    assert not read_history(told[:1]).former
    assert not with_closed([Candidate(text=one) for one in told])[0].is_closed


def test_a_change_whose_value_a_fact_has_is_no_second_answer() -> None:
    assert is_repeated("Me subieron el alquiler a 500", "Pago 500 de alquiler")
    assert not is_repeated("Me subieron el alquiler a 500", "Pago 450 de alquiler")


def test_usted_may_ask_not_to_keep_it() -> None:
    assert read_message("No me guarde usted esto, pero mi jefe ronca").is_off_the_record


def test_a_name_keeps_no_preposition() -> None:
    earlier = "Mi mujer, Irene, se pincha dos veces al día"

    told = read_message("A Irene le han bajado la dosis a una vez", [earlier]).statements

    assert not any("A Irene," in one.text for one in told)


def test_usted_may_ask_to_forget() -> None:
    request = read_forget_request("Haga usted el favor de olvidar lo que le dije de Berta")

    assert request is not None
    assert request.topic == "Berta"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Pinté el salón y barnicé las puertas", "pintaste el salón y barnizaste las puertas"),
        ("Me caí en la calle", "te caíste en la calle"),
        ("Vendimos el piso y compramos una casa", "vendisteis el piso y comprasteis una casa"),
        ("Laburo en una imprenta", "laburas en una imprenta"),
        (
            "Le pedí las fotos y se las he dado a Saúl",
            "le pediste las fotos y se las has dado a Saúl",
        ),
        ("Compré café para el bebé", "compraste café para el bebé"),
        ("José pinta muy bien", "José pinta muy bien"),
        ("Tomo eutirox, 75 microgramos", "tomas eutirox, 75 microgramos"),
        ("Curro tiene ocho años", "Curro tiene ocho años"),
    ],
)
def test_verbs_in_the_past_are_told_back(text: str, told: str) -> None:
    assert in_second_person(text, "es") == told


def test_who_says_carro_is_not_told_vosotros() -> None:
    assert uses_ustedes(["Compramos un carro"])
    assert not uses_ustedes(["Compramos un coche"])
    assert speaks_of_us("Compramos un carro")
    assert not speaks_of_us("Compré un carro")


def test_what_is_called_off_names_itself() -> None:
    told = ["Mi vecino vive en Lugo", "El juicio de la señora Ruiz es el 2 de mayo"]

    current = read_history([*told, "se ha suspendido lo de Ruiz; el nuevo día es el 9"]).current
    assert not [one for one in current if one.startswith("Mi vecino se ha suspendido")]
    current = read_history(["itv de la moto el 9 de marzo", "lo de la itv nada"]).current
    assert current == ["Se ha cancelado lo de la itv"]
