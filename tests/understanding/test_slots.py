"""What changes a value without naming it is found by its subject and the kind of the value."""

import pytest

from spade_llm.understanding.statements import read_message, statements_of


@pytest.mark.parametrize(
    ("earlier", "message", "holds"),
    [
        # The same subject, and the same kind of complement.
        ("The chess club meets at Olga's", "chess club's at mine from this week", "at mine"),
        ("Our canary lives in the hall", "the canary is in the attic since March", "in the attic"),
        ("Mi hermana es enfermera", "mi hermana ahora es panadera", "panadera"),
        # A thing is at one place at a time.
        ("I keep the ladder in the shed", "the ladder's in the garage", "the garage"),
        ("El cubo está en el patio", "el cubo está en el balcón", "el balcón"),
        # What others do to the speaker, and what the speaker does instead.
        ("I'm in berth 14A", "they upgraded us to 3C", "berth 3C"),
        ("My bus is the 16:20", "I'm getting the 17:05 instead", "17:05"),
        ("El informe se entrega el viernes", "nos han dado hasta el lunes", "el lunes"),
        # What a pronoun means, with a value of the same type.
        ("My visa expires in 2027", "I extended it until 2030", "2030"),
        ("The vet appointment is tomorrow at 4", "it was moved to 5", "tomorrow at 5"),
        ("Mañana tengo reunión con Ana a las 10", "la han pasado a las 12", "con Ana a las 12"),
        ("Our gate is painted green", "we did it over in blue", "blue"),
        # Another one of a kind.
        ("I use Thunderbird for mail", "I went over to Mailspring", "Mailspring for mail"),
        ("I study geography", "I transferred to history", "I study history"),
        ("Bebo leche de soja", "he vuelto a la leche de cabra", "Bebo leche de cabra"),
        # A value in a part of the clause that has no noun.
        (
            "The cat's jab is on Thursday at 4:15",
            "they can only do Saturday now",
            "Saturday at 4:15",
        ),
        ("My train to Ulm is at 06:50 from York", "the app says: it now leaves at 7.20", "at 7.20"),
        (
            "We're off to Malta in June",
            "Sam can't come then, we've moved it to July",
            "Malta in July",
        ),
        ("Gasto la talla 40", "he engordado y ya gasto la 42", "la talla 42"),
        ("I take 20 mg of it once a day", "doctor put me up to 40 mg", "40 mg of it once a day"),
        # A house number alone, and a whole address.
        ("My aunt lives at 17 Birch Close", "wait, 71, I mix those up", "71 Birch Close"),
        ("Vivo en la calle Olmo 14, 3º B", "nos mudamos a la calle Luna 5", "calle Luna 5"),
        # The noun that a number counts or numbers.
        ("I'm on 20 mg of it and sleep 7 hours", "I'm down to 10 mg", "10 mg of it and sleep 7"),
        ("I swim 2 km a day", "I'm up to 3", "3"),
    ],
)
def test_the_statement_of_the_same_slot_is_replaced(earlier: str, message: str, holds: str) -> None:
    current = statements_of([earlier, message])

    assert earlier not in current
    assert holds in " ".join(current)


@pytest.mark.parametrize(
    ("earlier", "message", "holds"),
    [
        ("My name is Dave", "call me Nina from now on", "My name is Nina"),
        ("Me llamo David", "me cambié el nombre a Nora", "Me llamo Nora"),
        ("I live in Derby", "I moved to Leeds last week", "I live in Leeds"),
        ("I work as a nurse", "I've become a teacher", "I work as a teacher"),
        ("I work for Tesco", "I've started at Mencap", "I work for Mencap"),
        ("I am 34 years old", "it was my birthday, I'm 35", "I am 35 years old"),
        ("My car is a Skoda", "I sold it and bought a Golf", "I bought a Golf (car)"),
        ("Tengo un Seat Ibiza", "ahora tengo un Dacia", "Tengo un Dacia"),
        ("I study law", "I switched to history", "I study history"),
        ("Estudio derecho", "ahora estudio historia", "Estudio historia"),
        ("My GP is Dr Patel", "I see Dr Okafor now", "My GP is Dr Okafor"),
        ("Tomo metformina", "me han cambiado la medicación a omeprazol", "Tomo omeprazol"),
        ("Mi número es el 600 123 456", "tengo número nuevo: 622 333 444", "622 333 444"),
        ("Ann works at Tesco", "Ann left, now works at Mencap", "Ann works at Mencap"),
        (
            "Mi madre estudia derecho",
            "mi madre ahora estudia historia",
            "Mi madre estudia historia",
        ),
    ],
)
@pytest.mark.parametrize("between", ["", "My haircut is on Monday", "I support Everton"])
def test_an_announced_value_replaces_that_of_its_relation(
    earlier: str, message: str, holds: str, between: str
) -> None:
    told = [one for one in (earlier, between) if one]
    current = statements_of([*told, message])

    assert earlier not in current
    assert holds in " ".join(current)
    assert not between or between in current


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ("I study chemistry", "Ann switched to history"),
        ("I work for Barclays", "Ann left, now works at Mencap"),
        ("Vivo en Bilbao", "ahora Ana vive en Lugo"),
        ("My favourite food is curry", "Ann's favourite food is lasagne now"),
        ("Mi coche es un Renault Clio", "Ana ahora tiene un Dacia"),
        ("I have a Dacia", "I moved to Vitoria last week"),
        ("Ana lives in Derby", "I live in Swansea these days"),
        ("Ana's doctor is Dr Patel", "I changed doctors, my new one is Dr Okafor"),
        ("Ana calza un 38", "ahora calzo un 44"),
        ("El teléfono de Ana es el 600 123 456", "mi nuevo teléfono es el 622 333 444"),
        ("Mi perro se llama Toby", "ahora el perro de Ana se llama Rufo"),
        ("My locker is 12", "Ana's locker is 15 now"),
        ("My car insurance is with Aviva", "our home insurance is with Axa now"),
        ("My rent is £650", "the garage's rent is £80 now"),
        ("My neighbour Tom is a vet", "my new neighbour is called Ana"),
        ("My flight is at 6:45", "the return flight is at 9 now"),
        ("Ana drives a Skoda", "I sold it and bought a Golf"),
        ("Mi amiga Sara tiene un Seat Ibiza", "vendí el coche y me compré un Dacia"),
        ("El médico de mi madre es el doctor Prieto", "cambié de médico, ahora es el doctor Vidal"),
        ("My brother Tom is a nurse", "I changed jobs, I'm a teacher now"),
        ("Dinner with Ana is on Friday", "dinner with Bob is on Saturday now"),
        ("The dog weighs 12 kilos", "I weigh 80 kilos now"),
        ("My phone is a Pixel", "my work phone is a Galaxy now"),
        ("I pay £30 for the gym", "I pay £12 for Netflix now"),
        ("La clase de yoga es los martes", "la clase de inglés ahora es los jueves"),
        ("Soy enfermera", "ahora soy vegana"),
    ],
)
def test_what_changes_for_another_being_thing_or_relation_leaves_the_statement(
    own: str, message: str
) -> None:
    assert own in statements_of([own, message])


def test_of_two_codes_the_named_one_changes() -> None:
    told = ["The alarm code is 4471", "The gate code is 1122"]

    current = statements_of([*told, "I changed the alarm code, it's 3358"])

    assert current == ["The gate code is 1122", "The alarm code is 3358"]


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        ("I work for Initech", "I switched to Telecable"),
        ("My boss is Ravi", "me cambié a Telecable"),
        ("Trabajo en Initech", "he cambiado de fisio"),
        ("My friend Greta has asthma", "I'm in Turin now"),
        ("My nephew Tim is 5", "Tim ran today, he was in lane 3 now"),
        ("I'm on chapter 3", "I'm up to 40 kilos"),
        ("Our canary lives in the hall", "we moved it on Tuesday"),
        ("My milk comes from a farmer", "sorry, I meant Thursday"),
        ("We rent a hall", "the hall is cold in winter"),
        ("The ladder is in the shed", "my uncle's ladder is in his garage"),
        ("I support Betis", "I went to see Levante with Nuria"),
        ("Leo's class is on Tuesdays", "Maya's class is on Wednesdays"),
        ("I'm 29", "they've put the rent up to 1020 now"),
        ("My bike is red", "Ana's bike is blue"),
        ("Mi cumple es el 22 de agosto", "el cumple de Quique es el 4 de enero"),
        (
            "We have three kids: Ben is 11, Lucy 8, Theo 3",
            "Ben goes to Oak School, Lucy to Elm Hill",
        ),
        ("Lucy's tutor is Mrs Lamb", "the boiler broke and the plumber can't come till Saturday"),
        ("Lucy's tutor is Mrs Lamb", "Ben's got a new tutor, Mr Okafor"),
        ("Lucy brings her kit on Fridays", "Lucy's checkup got moved to the 21st of March"),
        ("Soy Elena, enfermera en La Fe, planta 5", "el sábado trabajo por la mañana, de 8 a 15"),
        ("I'm training for the Dublin marathon on 26 October", "I run a long run on Sundays"),
        ("Our fence is white", "it used to be green, before my time"),
        ("Our mum is called Rosalind", "everyone calls her Roz, always have"),
        ("My gardener comes on Mondays", "he moved the bench and found a coin from 1912"),
        ("I drive a Skoda", "Maya's has moved to Fridays"),
        ("My bus is the 16:20", "I got up at 6:30 instead"),
        ("Mi autobús es el de las 9:15", "al final me levanté a las 6:30"),
    ],
)
def test_a_value_of_another_kind_replaces_nothing(earlier: str, message: str) -> None:
    assert not any(one.replaced for one in read_message(message, [earlier], [earlier]).statements)


@pytest.mark.parametrize(
    ("known", "message", "holds"),
    [
        # The topic, or the old value, in the first part.
        (["The safe's code is 8812"], "they reset the safe, it's 4471", "code is 4471"),
        (["Our wifi key is bluegoose"], "I changed the wifi, it's tealduck now", "is tealduck"),
        (["I park in bay B14", "We have a boiler"], "B14 got taken so I use D02", "bay D02"),
        # The old value is what the first part is about.
        (["I drive a Ford Puma"], "the Puma failed its test so we got a Corsa", "I drive a Corsa"),
        (["We eat at Chez Rita"], "Chez Rita has shut, I booked Aldea", "We eat at Aldea"),
        # Of two beings, the one that has more in common with the clause.
        (["My son is in Year 4", "My neighbour sings"], "he's gone up to Year 5", "My son"),
    ],
)
def test_what_two_parts_or_a_pronoun_say_of_an_earlier_statement(
    known: list[str], message: str, holds: str
) -> None:
    assert any(holds in one for one in statements_of([*known, message]))


@pytest.mark.parametrize(
    ("earlier", "message", "holds"),
    [
        ("Leo El camino de los pinos", "lo terminé, ahora leo Niebla", "Ahora leo Niebla"),
        (
            "La fiesta es en Lugo",
            "la fiesta al final es en Vigo, en Lugo no había sitio",
            "en Vigo",
        ),
    ],
)
def test_a_value_that_does_not_fit_the_old_words_is_told_in_its_own(
    earlier: str, message: str, holds: str
) -> None:
    current = " ".join(statements_of([earlier, message]))

    assert earlier not in current
    assert holds in current


@pytest.mark.parametrize(
    ("earlier", "message", "holds"),
    [
        ("My rent is £925, bills not included", "I'm paying $1,450 rent now", "1,450"),
        ("Mortgage is done in 2031, can't wait", "my mortgage runs until 2044 now", "2044"),
        (
            "Octopus sends me the electric bill",
            "moved our power over to Duke Energy, cheaper tariff",
            "Duke",
        ),
        ("My roommate's name is Tom", "Keisha's my roommate now", "Keisha"),
        (
            "I'm O negative, found out when I gave blood",
            "they retested my blood, I'm AB positive",
            "AB positive",
        ),
        ("Shoe size: 7", "fix my shoe size: it's 8, feet grew after the baby", "size is 8"),
        ("Lasagne is my favourite food", "hmm, fix my favourite food: it's ramen", "ramen"),
        ("I graduated in 2009", "got my graduation year wrong, it was 2016", "2016"),
        ("I'm 41, feeling every year of it", "got that wrong, 42 since last Tuesday", "42"),
        ("My bestie is Callum", "new best mate: Tasha", "Tasha"),
        ("I use a Pixel 8 as my phone", "upgraded my phone to a Galaxy S23", "Galaxy"),
        (
            "I'm saving for a camper van, it's taking forever",
            "changed my savings goal to a new kitchen",
            "kitchen",
        ),
        ("I practise the cello every evening", "switched to playing the banjo", "banjo"),
        (
            "Mi grupo sanguíneo es A positivo",
            "corrige mi grupo sanguíneo: es cero negativo",
            "cero negativo",
        ),
        (
            "Mi correo es lucia@example.org",
            "actualiza mi correo, es luferro@example.org",
            "luferro",
        ),
        ("Mi vecino se llama Fermín", "tengo vecino nuevo, se llama Anselmo", "Anselmo"),
        ("La fibra de casa es de Movistar", "mi nuevo proveedor de internet es Digi", "Digi"),
        ("Tengo el wifi con Movistar", "nos cambiamos a Digi", "Digi"),
        ("Mi móvil es un Pixel 8", "mi móvil ahora es un Galaxy A54", "Galaxy"),
        (
            "Pago hipoteca hasta 2041, qué horror",
            "el banco me alargó la hipoteca hasta 2037",
            "2037",
        ),
    ],
)
def test_another_value_of_a_relation_replaces_the_former_one(
    earlier: str, message: str, holds: str
) -> None:
    current = statements_of([earlier, message])

    assert earlier not in current
    assert holds in " ".join(current)


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        ("The alarm code at my house is 3816", "my 5k time is 31:40 now"),
        ("Mi pareja se llama Lucía", "ahora pago 17,99 euros por Netflix"),
        ("My wifi password is tulip-rocket-88", "switched to squash for my sport"),
        ("I always get a flat white at the coffee shop", "switched to oat milk for my porridge"),
        ("Mi mejor amigo se llama Gonzalo", "me fichó Cemex"),
        ("Mi perro se llama Toby", "ahora me llaman Pulga"),
        ("I take my pills at 7.30, always with food", "switched to having my lunch at 1pm"),
        ("My flatmate Tom is vegan", "Keisha's my flatmate now"),
        ("My brother's dog is called Rex", "our dog's called Otis now"),
        ("Entro al taller a las 7", "la clave del candado del taller es 4472"),
        ("Our internet is with Movistar", "the wifi password is now Sunflower"),
        ("We're watching The Bear", "my favourite series is now Dark"),
        ("I'm reading Emma", "my favourite book is now Ulysses"),
        ("My Netflix subscription is 10.99 a month", "my Spotify subscription is now 12.99"),
        ("My Netflix subscription is 10.99 a month", "I pay 12.99 for Spotify now"),
        ("I play the cello", "my daughter switched to playing the banjo"),
        ("I play the cello", "I now teach the piano"),
        ("I'm saving for a camper van", "I've changed the savings account to Nationwide"),
        ("The spare key is under the plant pot", "Ann has the spare key now"),
        ("Tengo 34 años", "llevo 10 años casado ahora"),
        ("I wear size 7 shoes", "my son now takes a size 4 shoe"),
        ("I wear size 7 shoes", "I paid 60 for new shoes"),
        ("Calzo un 38", "me he comprado zapatos de 60 euros"),
        ("The mortgage ends in 2031", "my mortgage payment is now 850"),
        ("I'm reading Emma", "Mia is reading Ulysses now"),
    ],
)
def test_a_value_of_another_relation_replaces_nothing(earlier: str, message: str) -> None:
    assert earlier in statements_of([earlier, message])
