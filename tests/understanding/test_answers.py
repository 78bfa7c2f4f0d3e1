"""Questions in other words than the statements that answer them."""

from __future__ import annotations

import pytest

from spade_llm.understanding.answers import (
    find_about,
    find_answers,
    find_nearest,
    find_possible,
    group_statements,
    with_closed,
)
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.questions import Candidate
from spade_llm.understanding.statements import choose_successor, read_history, statements_of
from spade_llm.understanding.vocabulary import concepts_of, general, kin, things, words_of

pytestmark = pytest.mark.quick

ANSWERED = (
    ("I bank with Lloyds", "who do I bank with?"),
    ("My aunt is on 0131 496 0712", "what number do I ring my aunt on?"),
    ("Llevo casada con Óscar diez años", "¿quién es mi marido?"),
    ("Cleaner's called Vito", "who does our cleaning?"),
    ("My neighbour, Bea, walks them to school", "who walks the kids to school?"),
    ("Mi suegra, Loli, los lleva al judo", "¿quién lleva a los niños al judo?"),
    ("The vet is Dr Hill", "who is my cat's vet?"),
    ("I'm vegan", "what can I eat?"),
    ("I live on my own", "who do I live with?"),
    ("Ya no trabajo en la fábrica", "¿dónde trabajo?"),
    ("Tengo que recoger el traje el martes", "¿qué tengo que hacer el martes?"),
    ("I'm a nurse", "what do I do for a living?"),
    ("I can't stand horror films", "do I like horror?"),
    ("I used to be a nurse", "what did I do before?"),
    ("I'm married to Chris", "who is my husband?"),
    ("My colleague Farid brings me coffee", "who brings me coffee?"),
    ("I'm moving to Cádiz in January", "where am I moving to?"),
    ("Me mudo a Santander en enero", "¿cuándo es la mudanza?"),
    ("I'm a plumber from Hull", "where am I from?"),
    ("My daughter Ellie's switched to maths", "what's Ellie studying?"),
    ("Ya le han dado el alta (mi abuela)", "¿sigue mi abuela en el hospital?"),
    ("My mum is staying with us until May", "who is staying with us?"),
    ("I'm a bricklayer", "what's my job?"),
    ("Mi novia Itziar es vasca", "¿cómo se llama mi pareja?"),
    ("I clock in at 6", "what time do I start work?"),
    ("Mi maestra es doña Chayo", "¿quién me enseña?"),
    ("I'm petrified of flying", "what am I afraid of?"),
    ("My sister is a solicitor", "what does my sister do for a living?"),
    ("My brother's a chef", "what is my brother's profession?"),
    ("I lent my drill to Pete", "who has my drill?"),
    ("I lent my ladder to Sam", "who borrowed my ladder?"),
    ("The bins go out on Wednesdays", "when do I put the rubbish out?"),
    ("I take the recycling out on Fridays", "what day is the trash?"),
    ("I parked on level 3", "where's my car?"),
    ("The car is on level 3", "where did I park?"),
    ("I get up at 6", "what time do I wake up?"),
    ("I go to bed at 11 pm", "what time do I fall asleep?"),
    ("I grew up in Cardiff", "where am I from?"),
    ("I was born on 4 July 1980", "what's my date of birth?"),
    ("My flat is in Bristol", "where do I live?"),
    ("I reside in Ghent", "which city do I live in?"),
    ("My postcode is BS8 1TH", "what's my zip code?"),
    ("My couch is green", "what colour is my sofa?"),
    ("The fridge was made by Bosch", "what brand is my refrigerator?"),
    ("The policy is with Aviva", "who is my insurance with?"),
    ("My licence plate is LK21 ABC", "what's my number plate?"),
    (
        "My passport expires in May 2031",
        "when does my passport run out, when is it no longer valid?",
    ),
    ("I earn 2300 euros a month", "what's my salary?"),
    ("My landlady is called Mrs Hill", "what's my landlord's name?"),
    ("I can't eat prawns", "am I allergic to shellfish?"),
    ("I'm allergic to peanuts", "which foods can't I have?"),
    ("I take 10 mg of ramipril", "what pills am I on?"),
    ("My barber is Tony", "who is my hairdresser?"),
    ("My GP is Dr Shaw", "what's my doctor called?"),
    ("Our vet is Dr Lee", "who is the veterinarian?"),
    ("I had an operation on 3 March", "when was my surgery?"),
    ("My shrink is called Dora", "what's my therapist's name?"),
    ("I play the cello", "which instrument do I play?"),
    ("I go jogging on Mondays", "when do I run?"),
    ("My workout is on Tuesdays", "when do I exercise?"),
    ("I swim on Thursdays", "when do I go swimming?"),
    ("My favourite movie is Alien", "which film do I like best?"),
    ("I'm reading Dune", "what book am I on?"),
    ("We fly on 3 May", "when is our flight?"),
    ("We stay at the Ritz in June", "what's our hotel?"),
    ("I met my wife in Rome", "where did I meet my spouse?"),
    ("We tied the knot; we got married in 2009", "when was our wedding?"),
    ("My mother-in-law is called Joan", "what's my mother-in-law's name?"),
    ("My grandson is called Max", "what are my grandchildren called?"),
    ("The twins are called Leo and Max", "what are my twins' names?"),
    ("My puppy is called Rex", "what's my dog's name?"),
    ("My bunny is called Snow", "what's my rabbit's name?"),
    ("I'm terrified of heights", "what am I scared of?"),
    ("I take a size 9 shoe", "what size are my boots?"),
    ("I'm left-handed", "am I a leftie?"),
    ("I'm a Catholic", "what's my religion?"),
    ("I'm a Gemini", "what's my star sign?"),
    ("I owe Marcus 40 pounds", "what debt do I have with Marcus?"),
    ("The rent is 900 euros", "how much do I pay my landlord in rent?"),
    ("My laptop is a ThinkPad", "what computer do I have?"),
    ("The boiler code is 4411", "what's the code for the boiler?"),
    ("My thesis is about bees", "what's my dissertation on?"),
    ("My couch came from Ikea", "where is my sofa from?"),
    ("I crashed the car on 2 May", "when was the accident?"),
    ("Mi coche está en la planta -2", "¿dónde aparqué?"),
    ("Le presté el taladro a Julio", "¿quién tiene mi taladradora?"),
    ("Soy enfermera", "¿a qué me dedico?"),
    ("Mi hermana es abogada", "¿en qué trabaja mi hermana?"),
    ("Mi primo es fontanero", "¿a qué se dedica mi primo?"),
    ("Me levanto a las 6", "¿a qué hora me despierto?"),
    ("Me acuesto a las 11", "¿a qué hora me voy a dormir?"),
    ("Me crié en Soria", "¿de dónde soy?"),
    ("La basura se saca los martes", "¿cuándo toca el contenedor?"),
    ("El contenedor de reciclaje pasa los viernes", "¿qué día es la basura?"),
    ("Mi piso está en Vigo", "¿dónde vivo?"),
    ("Mi suegra se llama Carmen", "¿cómo se llama mi suegra?"),
    ("Mis mellizos se llaman Leo y Max", "¿cómo se llaman mis gemelos?"),
    ("Mi perrita se llama Lola, es una perra buena", "¿cómo se llama mi perro?"),
    ("La nevera es de Bosch", "¿de qué marca es el frigorífico?"),
    ("El seguro lo tengo con Mapfre", "¿cuál es mi aseguradora?"),
    ("La ITV caduca en mayo", "¿cuándo vence la ITV?"),
    ("Mi peluquera es Ana", "¿quién es mi peluquero?"),
    ("Mi médico de cabecera es la doctora Ruiz", "¿quién es mi doctora?"),
    ("Toco el violín", "¿qué instrumento toco?"),
    ("Entreno los martes en el gimnasio", "¿cuándo hago ejercicio?"),
    ("Volamos el 3 de mayo", "¿cuándo es el vuelo?"),
    ("Nos casamos en 2009", "¿cuándo fue la boda?"),
    ("Me dan pánico las arañas", "¿a qué le tengo miedo?"),
    ("Soy zurdo", "¿soy zurda o diestra?"),
    ("Calzo un 43", "¿qué número de zapatos tengo?"),
    ("Los viernes teletrabajo", "¿qué día trabajo desde casa?"),
    ("Tengo dentista el 4 de mayo", "¿cuándo voy al odontólogo?"),
    ("El alquiler son 700 euros", "¿cuánto pago de alquiler?"),
    ("Le debo 20 euros a Luis", "¿qué deuda tengo con Luis?"),
    ("No puedo tomar lactosa", "¿puedo beber leche?"),
    # Who does something for the speaker.
    ("Our cleaner is called Halina", "who cleans the flat?"),
    ("My mechanic is Raj", "who services my van?"),
    ("My bookkeeper is Wilma", "who does my accounts?"),
    ("Mi contable es Eloísa", "¿quién me lleva las cuentas?"),
    ("Mi electricista es Fidel", "¿quién hizo la instalación?"),
    ("Our gardener is Stan", "who cuts the hedge?"),
    ("La niñera es Maite", "¿quién cuida a mis hijos?"),
    ("Our lodger is Tunde", "who's renting our back room?"),
    ("Our vet is Ms Falk", "who vaccinates my rabbit?"),
    # Relatives that are told by another one.
    ("Mi suegro se llama Blas", "¿cómo se llama el padre de mi mujer?"),
    ("My niece is called Orla", "what is my brother's daughter called?"),
    ("La hermana de mi padre vive en Jaca", "¿dónde vive mi tía?"),
    ("Me casé con Óscar", "¿quién es mi marido?"),
    ("I'm the eldest of five", "how many siblings do I have?"),
    # The same thing in other words.
    ("The stopcock is behind the washing machine", "where do I turn the water off?"),
    ("El cuadro eléctrico está en la entrada", "¿dónde se corta la luz?"),
    ("El pienso del perro es Ownat", "¿qué come mi perro?"),
    ("My Xbox name is QuietElk", "what's my gamertag?"),
    ("My parcel comes on the 12th", "when is the delivery?"),
    ("My library card runs out in June", "when does my library card expire?"),
    ("The drawing of the lighthouse is by Nell", "who made the picture of the lighthouse?"),
    ("Me he hecho del Cádiz", "¿de qué equipo soy?"),
    ("I put money aside with Skipton", "where are my savings?"),
    ("Our kettle is a Dualit and cost 49.99", "how much did the kettle cost?"),
    ("The mortgage is with Skipton", "who gave us the home loan?"),
    ("Soy alérgico a las frutillas", "¿puedo comer fresas?"),
    ("I'm allergic to aubergine", "can I eat eggplant?"),
    ("I do earlies at the depot", "what shift am I on?"),
    ("I broke my elbow in May", "which bone did I fracture?"),
    ("My phone contract ends in August", "when does my mobile contract expire?"),
)

NOT_ANSWERED = (
    ("I live in Hull", "who do I live with?"),
    ("Vivo en Hellín", "¿con quién vivo?"),
    ("Soy Iván", "¿dónde trabajo?"),
    ("Iker ya no va a karate", "¿cuántos años tiene Iker?"),
    ("Iker hace karate", "¿qué hace Iker los lunes?"),
    ("Ben's teacher is Ann", "who is Ben's doctor?"),
    ("My sister's called Ana", "what's my brother's name?"),
    ("My sister lives in Leeds", "where do I live?"),
    ("My dog is called Rex", "what's my cat called?"),
    ("My cat is called Tom", "what's my rabbit's name?"),
    ("My mother-in-law is called Joan", "what's my mum's name?"),
    ("My stepfather is called Bob", "what's my father called?"),
    ("My grandson is called Max", "what's my son called?"),
    ("My uncle is a baker", "what do I do for a living?"),
    ("My aunt is a vet", "what's my cousin's job?"),
    ("I lent my drill to Pete", "who has my ladder?"),
    ("I lent my hammer to Pete", "who has my tent?"),
    ("My passport expires in 2031", "what's my wifi password?"),
    ("My laptop is a ThinkPad", "what car do I drive?"),
    ("My sofa is green", "what's my shoe size?"),
    ("I'm allergic to peanuts", "when is my appointment?"),
    ("The bins go out on Wednesdays", "when is my flight?"),
    ("I bought a sofa in May", "when did I sell the car?"),
    ("The rent is 900 euros", "how much do I earn?"),
    ("I play the cello", "which sport do I play?"),
    ("My barber is Tony", "who is my dentist?"),
    ("The plumber comes on Friday", "when does the electrician come?"),
    ("I'm afraid of spiders", "what's my favourite colour?"),
    ("My friend Ann was born in Rome", "where was I born?"),
    ("My birthday is on 3 May", "when is our anniversary?"),
    ("I take a size 9 shoe", "how tall am I?"),
    ("We stay at the Ritz", "where do I work?"),
    ("My boss is called Carl", "what's my neighbour called?"),
    ("Mi hermana vive en Soria", "¿dónde vivo?"),
    ("Mi perro se llama Toby", "¿cómo se llama mi gata?"),
    ("Mi suegra se llama Carmen", "¿cómo se llama mi madre?"),
    ("Mi tío es panadero", "¿a qué me dedico?"),
    ("Le presté el taladro a Julio", "¿quién tiene mi escalera?"),
    ("El alquiler son 700 euros", "¿cuánto gano?"),
    ("Toco el violín", "¿qué número calzo?"),
    ("Volamos el 3 de mayo", "¿cuándo es mi cumpleaños?"),
    ("Soy zurdo", "¿cuánto peso?"),
    ("Mi peluquera es Ana", "¿quién es mi dentista?"),
    ("La nevera es de Bosch", "¿qué coche tengo?"),
    ("My wife's dad is called Gordon", "what's my dad's name?"),
    ("El hijo de mi hermana se llama Teo", "¿cómo se llama mi hijo?"),
    ("The router is in the hall", "where do I live?"),
    ("Our builders are from Hull", "do I drink tea?"),
    ("El carné de la piscina caduca en mayo", "¿como carne?"),
    ("La reunión es mañana", "¿qué turno tengo?"),
    ("The boiler is a Worcester", "what's my job?"),
    ("Me pagan el día 28", "¿cuál es mi religión?"),
)


def _answers(told: str, asked: str) -> list[str]:
    return [one.text for one in find_answers(asked, [Candidate(text=told)])]


@pytest.mark.parametrize(("told", "asked"), ANSWERED)
def test_other_words_for_the_same_are_an_answer(told: str, asked: str) -> None:
    assert _answers(told, asked) == [told]


@pytest.mark.parametrize(("told", "asked"), NOT_ANSWERED)
def test_what_is_said_of_another_is_no_answer(told: str, asked: str) -> None:
    assert _answers(told, asked) == []


def test_the_lists_of_the_table_name_concepts() -> None:
    for listed in (kin(), general(), things()):
        assert listed
        assert not [one for one in listed if not words_of(frozenset({one}))]


def test_a_quoted_sentence_is_not_what_a_person_says() -> None:
    assert not concepts_of("«tengo una hermana que vive en Tejas»")
    assert concepts_of("«Tejas»")


def test_a_name_stands_for_the_being_that_has_it() -> None:
    told = ["My stepfather is called Boris", "My stepfather builds boats", "My cat Ink is 4"]

    assert _best(told, "what does Boris build?") == "My stepfather builds boats"
    assert _best(["My cat Ink is 4", "My cat Dot is 9"], "how old is Ink?") == "My cat Ink is 4"


def test_names_are_compared_in_full() -> None:
    told = ["Paulo's birthday is in May", "Paula's birthday is in June"]

    assert _best(told, "when is Paulo's birthday?") == told[0]


def test_what_another_did_is_no_answer_about_the_speaker() -> None:
    told = ["I went to school in Leon, Nicaragua", "My ex went to school in Leon, Mexico"]

    assert _best(told, "which Leon did I go to school in?") == told[0]


def test_an_attribute_of_one_thing_is_no_answer_about_another() -> None:
    assert not _answers("The gym code is 4411", "what's the au pair's name?")
    assert not _answers("My dog is called Bo", "what's the piano teacher called?")


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I jogged along the canal", "where do I go jogging?"),
        ("Tengo dos perritos", "¿tengo perros?"),
        ("Aparcamos en la calle Luna", "¿dónde aparco?"),
    ],
)
def test_other_forms_of_a_word_are_that_word(told: str, question: str) -> None:
    assert _answers(told, question) == [told]


def test_what_was_just_said_may_answer_a_question_in_unknown_words() -> None:
    told = Candidate(text="I'm a Zoroastrian")

    assert find_possible("what's my religion?", [told], [told.text]) == told
    assert find_possible("what's my religion?", [told], []) is None


def test_what_recall_found_by_meaning_may_answer_without_a_common_word() -> None:
    told = Candidate(text="The lifts freak me out")

    assert find_nearest("what am I scared of?", [told], [told.text]) == told
    assert find_nearest("what am I scared of?", [told]) is None
    assert find_nearest("am I scared of dogs?", [told], [told.text]) is None


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("My sister Niamh had a little girl, Maeve", "what's my niece called?"),
        ("Mi hija Macarena tiene dos niños, Bruno y Alba", "¿cómo se llaman mis nietos?"),
    ],
)
def test_the_child_of_a_relative_is_a_relative(told: str, question: str) -> None:
    assert answers_of(["My friend Sue has a girl, Ida", told], question) == [told]


def test_a_diet_is_no_kind_of_car() -> None:
    told = ["My husband Orville's not supposed to eat spinach"]

    assert answers_of(told, "what kind of car do Orville and I have?") == []


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I live in Rome", "what's my religion?"),  # known to be about something else
        ("I'm a Zoroastrian", "how many brothers do I have?"),  # without a number
        ("I'm a Zoroastrian", "what does my sister do?"),  # about another being
        ("I'm a Zoroastrian", "do I have a car?"),  # asks for no value
    ],
)
def test_what_was_just_said_does_not_answer_what_it_cannot_mean(told: str, question: str) -> None:
    assert find_possible(question, [Candidate(text=told)], [told]) is None


@pytest.mark.parametrize(
    ("told", "question"),
    [
        # Only the name is the same.
        ("Ben loves pasta", "is Ben allergic to something?"),
        ("Theo is allergic to eggs", "is Ben allergic to something?"),
        # It has no time.
        ("I'm on the committee", "when does the committee meet?"),
        # Another invoice.
        ("Acme owes me 850, invoice 2031, due on the 30th", "when is invoice 2034 due?"),
    ],
)
def test_what_shares_too_little_is_not_sure(told: str, question: str) -> None:
    assert find_answers(question, [Candidate(text=told)]) == []


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Ben loves pasta", "does Ben like pasta?"),
        ("My cat Shadow is 11", "how old is Shadow?"),
        ("Ben is my boss", "who is Ben?"),
        ("We meet in the spring", "when do we meet?"),
        ("Acme owes me 850, invoice 2031, due on the 30th", "when is invoice 2031 due?"),
        ("My flight BA2490 leaves at 9", "when does my flight leave?"),
        ("The wifi password of the flat is gato2024", "what's the wifi password?"),
        ("I live in a flat with Ana", "who do I live with?"),
        ("Sam comes from Cork", "where is Sam from?"),
        ("Rex eats at 8", "when does Rex eat?"),
    ],
)
def test_what_shares_enough_is_sure(told: str, question: str) -> None:
    assert [one.text for one in find_answers(question, [Candidate(text=told)])] == [told]


def _best(told: list[str], question: str) -> str:
    found = find_answers(question, [Candidate(text=one) for one in told])
    return found[0].text if found else ""


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        # A name of the question is none that answers it.
        (
            ["My late wife's name was Joan", "I visit her at Highgate on Mondays"],
            "where do I visit Joan?",
            "I visit her at Highgate on Mondays (my late wife Joan)",
        ),
        # What is asked for is the subject.
        (
            ["El trastero es el 9", "El cerrojo del trastero se abre con el 7781"],
            "¿cuál es mi trastero?",
            "El trastero es el 9",
        ),
        # The code of a flat is not who lives there.
        (
            ["Comparto piso con Iván y Nuria", "La clave del wifi del piso es gato2024"],
            "¿con quién vivo?",
            "Comparto piso con Iván y Nuria",
        ),
        # "My husband" is who is asked for, not the speaker.
        (
            [
                "Mi marido Quique trabaja en el puerto y vuelve a las 6",
                "El cumple de Quique es en enero",
            ],
            "¿cuándo es el cumple de Quique?",
            "El cumple de mi marido Quique es en enero",
        ),
        # Where somebody lives of whom the speaker tells.
        (
            [
                "I live in Hull with my cousin Ivo",
                "I have two sons, Rob, who lives in Peru, and Max",
            ],
            "where do I live?",
            "I live in Hull with my cousin Ivo",
        ),
        # The subject rather than a being beside it.
        (
            ["I live in Hull with my cousin Ivo", "Ivo's in a clinic in York"],
            "where is Ivo?",
            "My cousin Ivo's in a clinic in York",
        ),
        # Another place than is asked for.
        (["I live in Hull"], "do I live in Peru?", "I live in Hull"),
        # Whether it still is so.
        (["Ivo is home again"], "is Ivo in hospital?", "Ivo is home again"),
        # What somebody does is their work.
        (
            ["Nora gave up nursing", "Nora's running a bakery with a friend"],
            "what does Nora do?",
            "Nora's running a bakery with a friend",
        ),
        (
            ["My late uncle Gus passed away in May", "My late uncle Gus was a tailor"],
            "what did my uncle do?",
            "My late uncle Gus was a tailor",
        ),
        # By the hour, not by the day.
        (
            ["My day rate is 280", "I charge 35 an hour for small repairs"],
            "what's my hourly rate?",
            "I charge 35 an hour for small repairs",
        ),
        (
            ["I'm working at a kiosk on Sundays, 11.20 an hour"],
            "how much do I earn?",
            "I'm working at a kiosk on Sundays, 11.20 an hour",
        ),
        # The age behind a name.
        (
            ["I'm Eve, mum of Tom (11) and Ava (7)"],
            "how old is Ava?",
            "I'm Eve, mum of Tom (11) and Ava (7)",
        ),
        # Done to the speaker by a doctor.
        (
            ["The doctor put my warfarin up to 4 mg"],
            "how much warfarin do I take?",
            "I'm on 4 mg of warfarin now",
        ),
        # What is over is no answer if what holds instead was told after it.
        (
            ["I dropped out of law school", "I study nursing now in Hull"],
            "what am I studying?",
            "I study nursing now in Hull",
        ),
        (
            ["The exam is on the 28th", "I passed the exam"],
            "did I pass my exam?",
            "I passed the exam",
        ),
        # A verb without its object.
        (
            ["Mi psicóloga se llama Berta, voy los martes"],
            "¿qué día voy a la psicóloga?",
            "Voy los martes (mi psicóloga Berta)",
        ),
    ],
)
def test_an_answer_tells_what_the_question_lacks(
    told: list[str], question: str, answer: str
) -> None:
    candidates = [Candidate(text=one) for one in statements_of(told)]
    assert find_answers(question, candidates)[0].text == answer


def test_a_number_is_no_price() -> None:
    told = [Candidate(text="Our cleaner Ivy charges £14 an hour")]

    assert not find_answers("what is Ivy's number?", told)


def test_all_medicines_are_told() -> None:
    told = ["I take iron tablets, 20 mg, with lunch", "I take ramipril 5 mg", "I live in Hull"]

    found = find_answers("what tablets do I take?", [Candidate(text=one) for one in told])

    assert {one.text for one in found} == {*told[:2]}


def answers_of(told: list[str], question: str) -> list[str]:
    candidates = with_closed([Candidate(text=one) for one in told])
    return [one.text for one in find_answers(question, candidates)]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        # Another number of the same thing, without a word of change.
        (
            ["I take 20 mg of sertraline", "Doctor wants 50 of the sertraline"],
            "what dose of sertraline?",
        ),
        (
            ["My bank is Lloyds", "I changed to Revolut since Lloyds left town"],
            "what's my bank?",
        ),
        (["The ladder is in the garage", "I put the ladder in the attic"], "where's the ladder?"),
        (
            ["Estoy aprendiendo alemán", "Ahora me he pasado al ruso"],
            "¿qué idioma estoy aprendiendo?",
        ),
        # What the answer names is not there any more.
        (
            [
                "The donkeys are at Firle, and a man named Osric trims their hooves",
                "Osric hurt his back, so a girl called Fenella does them",
            ],
            "who trims the donkeys' hooves?",
        ),
        (
            [
                "Los domingos echo la partida en el bar de Cosme",
                "Cosme cerró, así que echo la partida en la sidrería",
            ],
            "¿dónde echo la partida?",
        ),
        (
            ["La lijadora se la dejé a Evaristo", "Evaristo le pasó la lijadora a su yerno"],
            "¿quién tiene mi lijadora?",
        ),
        # Another member of a class, another place, another time of the same.
        (
            [
                "Kevin picks the kids up on Fridays at five",
                "Kevin will come for the kids at six thirty",
            ],
            "what time does Kevin pick up the kids?",
        ),
    ],
)
def test_what_may_hold_instead_is_told_before_the_older_statement(
    told: list[str], question: str
) -> None:
    assert answers_of(told, question) == told[::-1]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (["Max plays the drums", "Max has a new bike now"], "what does Max play?"),
        (["My sister is called Ana", "My sister has a new job"], "what's my sister called?"),
        (["Lola is 9", "Lola wears size 33"], "how old is Lola?"),
        (["My brother Tom is a plumber", "Tom left his bike here"], "what does my brother do?"),
        (["Ann's birthday is on 3 May", "Ann is coming on Friday"], "when is Ann's birthday?"),
        (["I drive a Golf", "I haven't sold the Golf"], "what do I drive?"),
        (["My dog Rex eats at six", "Rex gave me a fright"], "when does Rex eat?"),
        (
            ["The ladder is in the garage", "My neighbour's ladder is in the attic"],
            "where's my ladder?",
        ),
    ],
)
def test_what_only_names_the_same_is_not_told_instead(told: list[str], question: str) -> None:
    assert answers_of(told, question) == told[:1]


def test_a_successor_answers_although_it_has_no_word_of_the_question() -> None:
    former, latest = "Ines cuts my hair", "I go to somebody called Rui now"
    candidates = [
        Candidate(text=former, is_closed=True, successor=latest),
        Candidate(text=latest),
    ]

    found = find_answers("who does my hair?", candidates)

    assert [(one.text, one.is_closed) for one in found] == [(latest, False), (former, True)]


def test_what_was_before_a_name_is_what_that_name_replaced() -> None:
    history = read_history(["Our electricity is from Endesa", "We left Endesa for Holaluz"])
    candidates = [
        *(
            Candidate(text=one, is_closed=True, successor=new)
            for one, new in history.former.items()
        ),
        *(Candidate(text=one) for one in history.current),
    ]

    found = find_answers("who were we with before Holaluz?", candidates)

    assert [one.text for one in found] == ["Our electricity is from Endesa"]


@pytest.mark.parametrize(
    ("told", "successor"),
    [
        (["Ana has retired", "I go to a man called Luis"], "I go to a man called Luis"),
        (["It's geology now, not biology", "I gave up biology"], "It's geology now, not biology"),
        (["I sold the van"], "I sold the van"),
        ([], ""),
    ],
)
def test_a_successor_is_what_holds_rather_than_what_is_over(
    told: list[str], successor: str
) -> None:
    assert choose_successor(told) == successor


@pytest.mark.parametrize("question", ["what's my name?", "what am I called?"])
def test_the_speakers_name_is_not_another_ones(question: str) -> None:
    told = ["I'm Odile", "My assistant is called Bruno and is off on Fridays"]

    assert answers_of(told, question) == told[:1]


def test_what_a_boss_has_is_not_the_speakers() -> None:
    told = ["I have one brother", "My boss has three brothers"]

    assert answers_of(told, "how many brothers do I have?") == told[:1]


def test_what_is_told_of_a_husband_is_not_told_of_his_wife() -> None:
    told = ["My sister Pam is 41", "My sister Pam's husband Joe is 50"]

    assert answers_of(told, "how old is Pam?") == told[:1]
    assert answers_of(told, "how old is Pam's husband?") == told[1:]


def test_a_question_for_a_day_is_not_answered_by_a_period() -> None:
    told = ["El examen teórico es el 4 de mayo", "El examen me cuesta 60 euros al mes"]

    assert answers_of(told, "¿qué día es el examen?") == told[:1]


def test_all_allergies_are_told() -> None:
    told = ["I can't have nuts, anaphylaxis", "I'm allergic to penicillin", "I live in Hull"]

    found = find_answers("what am I allergic to?", [Candidate(text=one) for one in told])

    assert {one.text for one in found} == {*told[:2]}


@pytest.mark.parametrize(
    "question",
    [
        "can you remind me what I said about wasps?",
        "what have I told you about wasps?",
        "tell me what I mentioned about wasps",
    ],
)
def test_words_for_telling_are_no_part_of_what_is_asked(question: str) -> None:
    told = ["Ian's allergic to wasps and Max is scared of dogs", "I said yes to the job"]

    assert answers_of(told, question) == told[:1]


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("I'm Elena, a nurse in surgery", "you"),
        ("My surgery is on Monday", "plans"),
        ("My brother Jon hates flying", "people"),
        ("We fly to Rome in May", "plans"),
        ("Parents' evening is on Wednesday at 6", "plans"),
        ("My laptop password is the first dog's name", "you"),
        ("I have an exam", "plans"),
        ("I get up at 6", "you"),
        ("My dog is called Rex", "people"),
        ("I hate meetings", "tastes"),
        ("I'm a nurse at the General, 4 days a week, off on Fridays", "you"),
        ("Ian's allergic to wasps", "people"),
    ],
)
def test_a_statement_stands_in_the_group_that_it_is_about(text: str, group: str) -> None:
    assert group_statements([text]) == {group: [text]}


def test_what_only_has_a_word_of_the_question_follows_nothing() -> None:
    home = ["We live at 4 Mill Lane", "The wifi password at home is Otter22"]
    code = ["The gate code is 4410", "Leo gave up judo"]

    assert answers_of(home, "where do we live?") == home[:1]
    assert answers_of(code, "what's the gate code?") == code[:1]
    assert answers_of(["I live in Ayr", "I work from home now"], "where do I live?") == [
        "I live in Ayr"
    ]


def _told(*messages: tuple[str, ...]) -> list[Candidate]:
    """The statements of several messages, each with the time of its message."""
    return [
        Candidate(text=text, date="2026-11-20", time=f"10:0{number}:00")
        for number, message in enumerate(messages)
        for text in message
    ]


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (
            [
                ("I see the optician on the 14th of March",),
                ("The optician's girl rang", "They can only fit me in on the 21st"),
            ],
            "when am I at the optician's?",
            "21st",
        ),
        (
            [("The baby should come on 2 May",), ("The scan says the baby will come on 9 May",)],
            "when is the baby due?",
            "9 May",
        ),
        (
            [("The shed key is under the pot",), ("I've given the shed key to our neighbour Una",)],
            "where's the shed key?",
            "Una",
        ),
        (
            [("La multa es de 90 euros",), ("Con el descuento, la multa queda en 45 euros",)],
            "¿cuánto es la multa?",
            "45",
        ),
        (
            [("Hay juicio el 7 de mayo",), ("Se ha aplazado el juicio", "Es el 9 de junio")],
            "¿cuándo es el juicio?",
            "9 de junio",
        ),
        # The question names the place only, the news the club.
        (
            [
                ("Darts is on Monday evenings at the Plough",),
                ("The darts lot voted for Thursdays, same place",),
            ],
            "which evening am I at the Plough?",
            "Thursdays",
        ),
        (
            [
                ("Descanso los lunes",),
                ("Los martes no hay nadie, así que descanso lunes y martes",),
            ],
            "¿qué días descanso?",
            "lunes y martes",
        ),
        # It ends, comes back or changes hands.
        (
            [("The Skoda's at the garage",), ("I picked the Skoda up this afternoon",)],
            "is the Skoda at the garage?",
            "picked",
        ),
        (
            [("En agosto nos vamos a vivir a Querétaro",), ("Ya no se hizo lo de Querétaro",)],
            "¿me voy a mudar a Querétaro?",
            "no se hizo",
        ),
        # The same message tells the time of what only its first statement names.
        ([("My shift is the late one", "I'm on from ten till six")], "when's my shift?", "ten"),
    ],
)
def test_what_was_told_later_of_the_same_thing_comes_first(
    told: list[tuple[str, ...]], question: str, answer: str
) -> None:
    assert answer in find_answers(question, _told(*told))[0].text


@pytest.mark.parametrize(
    ("first", "later", "question"),
    [
        ("The gate code is 4471", "The gate's hinge cost 30 euros", "what's the gate code?"),
        ("I see the optician on 14 March", "The optician's dog turned 5", "when's the optician?"),
        ("Mum's knee op is on 3 May", "I have knee physio on 7 May", "when is mum's knee op?"),
        (
            "The piano lesson is on Monday",
            "The piano tuner comes on 4 June",
            "when's the piano lesson?",
        ),
        ("My sons are Rob and Max", "I have two dogs in Hull", "where do my sons live?"),
        ("I drive a Volvo, unit 41", "Next load: pickup Sunday 0500", "what unit do I drive?"),
        ("My knee physio is on Monday", "I booked the tent for 8 May", "when is my knee physio?"),
        ("My daughter Lucy's got a Mini", "I sold the Fiesta, it's gone", "what does Lucy drive?"),
        ("Ben likes football", "Ben passed his driving test", "does Ben like football?"),
        ("Ben is vegan", "I paid Ben back", "is Ben vegan?"),
        (
            "Tengo dos hijos: Gustavo, contador, que vive en Córdoba, y Silvina",
            "Nélida me trajo el libro, pero la máquina de coser sigue en su casa",
            "¿Dónde está viviendo Gustavo?",
        ),
    ],
)
def test_what_was_told_later_of_another_thing_does_not_come_first(
    first: str, later: str, question: str
) -> None:
    found = find_answers(question, _told((first,), (later,)))

    assert later not in [one.text for one in found[:1]]


@pytest.mark.parametrize(
    ("told", "other", "question"),
    [
        (
            "I've got a hamster called Biscuit",
            "The new guinea pig is called Mortimer",
            "what's my hamster called?",
        ),
        (
            "They gave me a new locker at work, it's 112",
            "My locker at the pool is number 48",
            "what number is my locker at work?",
        ),
        (
            "On Monday my train to Leeds leaves at 7:42",
            "My train back from Leeds got changed to 18:55",
            "what time's my train to Leeds?",
        ),
        (
            "Para la tensión tomo enalapril",
            "Para el estómago ahora tomo omeprazol",
            "¿qué tomo para la tensión?",
        ),
        ("Mi hijo estudia en Lisboa", "Mi hija estudia en Salamanca", "y mi hijo, ¿dónde estudia?"),
    ],
)
def test_the_thing_that_is_asked_for_answers(told: str, other: str, question: str) -> None:
    for texts in ((told, other), (other, told)):
        asked = split_clauses(question)[-1].text

        assert find_answers(asked, _told(texts))[0].text == told


def test_the_name_of_a_boat_and_the_end_of_a_job_are_no_news_of_others() -> None:
    dog, boat = "Our dog is called Rex", "We have a boat we built ourselves, its name is Otter"
    trade, end = "I'm a plumber from Cork", "I no longer work at Tesco"

    assert find_answers("what's our dog called?", _told((dog,), (boat,)))[0].text == dog
    assert find_answers("what do I do for a living?", _told((trade,), (end,)))[0].text == trade


def test_named_children_are_found_and_listed_by_their_noun() -> None:
    told = ["I have a shop in Bath and two kids, Ella and Max", "Ella's 7", "I live in Bath"]

    assert [
        one.text for one in find_about("my kids", [Candidate(text=one) for one in told])
    ] == told[:2]
    assert group_statements(told)["people"] == told[:2]


@pytest.mark.parametrize(
    ("word", "other"),
    [("station", "statin"), ("brought", "bought"), ("caring", "car"), ("Celia", "celiac")],
)
def test_a_word_is_no_typo_of_another_word(word: str, other: str) -> None:
    assert not concepts_of(word) & concepts_of(other)


LIKED = ["I like jazz and old films", "My favourite colour is green", "Prefiero el té al café"]
DISLIKED = ["I do not like olives", "No soporto el frío"]
TASTES = [*LIKED, *DISLIKED, "My sister likes opera", "I'd like to go to Rome", "I live in Bath"]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what do I like?", LIKED),
        ("¿qué me gusta?", LIKED),
        ("¿qué cosas me gustan?", LIKED),
        ("what don't I like?", DISLIKED),
        ("¿qué no me gusta?", DISLIKED),
        ("what are my likes and dislikes?", [*LIKED, *DISLIKED]),
        ("¿cuáles son mis gustos?", [*LIKED, *DISLIKED]),
    ],
)
def test_all_tastes_are_listed_in_either_language(question: str, answers: list[str]) -> None:
    found = find_answers(question, [Candidate(text=text) for text in TASTES])

    assert [one.text for one in found] == answers


MANY = (
    "I live in Shrewsbury",
    "My flat is on the third floor",
    "I work as a paramedic",
    "I work for Balfour Beatty",
    "I work 8 to 4",
    "My boss is called Denise",
    "I drive a Skoda Fabia",
    "My number plate is LK19 VTR",
    "My driving test is on 12 May",
    "I take metformin",
    "I take my medicine at 7.30am",
    "My phone number is 07700 900412",
    "My phone is a Pixel 8",
    "I studied marine biology at university",
    "I graduated in 2009",
    "I am learning Welsh",
    "My favourite food is lasagne",
    "I don't like mushrooms",
    "I have a dentist appointment on Thursday",
    "I have a haircut on Friday",
    "My nickname is Smudge",
)
"""Facts of one person, several of which have a word in common with a question."""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What town do I live in?", "I live in Shrewsbury"),
        ("which floor is my flat on?", "My flat is on the third floor"),
        ("What's my job?", "I work as a paramedic"),
        ("What hours do I work?", "I work 8 to 4"),
        ("who's my boss?", "My boss is called Denise"),
        ("What car do I drive?", "I drive a Skoda Fabia"),
        ("What's my number plate?", "My number plate is LK19 VTR"),
        ("Which medicine do I take?", "I take metformin"),
        ("What's my phone number?", "My phone number is 07700 900412"),
        ("what did I study?", "I studied marine biology at university"),
        ("What language am I learning?", "I am learning Welsh"),
        ("What food do I dislike?", "I don't like mushrooms"),
        ("When's my dentist appointment?", "I have a dentist appointment on Thursday"),
        ("whats my nickname?", "My nickname is Smudge"),
    ],
)
def test_of_many_facts_the_one_that_tells_the_thing_itself_is_the_answer(
    question: str, answer: str
) -> None:
    found = find_answers(question, with_closed([Candidate(text=one) for one in MANY]))

    assert found
    assert found[0].text == answer


def test_the_end_of_studies_ends_neither_lessons_nor_what_was_studied() -> None:
    told = ["Estudié Biología", "Estoy aprendiendo japonés", "Me gradué en 2009"]

    assert statements_of(told) == told


def test_another_thing_of_the_kind_does_not_stand_before_the_answer() -> None:
    told = ["Dinner with Tom is on Friday", "Dinner with Kim is on Saturday now"]

    found = find_answers("when's dinner with Tom?", with_closed([Candidate(text=t) for t in told]))

    assert found[0].text == "Dinner with Tom is on Friday"
