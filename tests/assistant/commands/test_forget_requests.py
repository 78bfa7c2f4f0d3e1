"""Requests to forget in words: what is removed, what is asked, and /undo."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pytest

from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.context import AdaptiveSmartContext
from spade_llm.core.errors import PeerUnavailable
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, MemoryDraft
from spade_llm.memory.learning.episodes import cut_episodes
from spade_llm.providers import Completion, OfflineProvider
from spade_llm.providers.model import NonStreamingModel
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType
from spade_llm.understanding.clauses import is_off_the_record
from spade_llm.understanding.forgetting import (
    MAX_CHARS,
    closest,
    implied_requests,
    matching,
    read_forget_request,
)
from tests.assistant.turn.test_turn_failures import an_assistant, an_utterance
from tests.memory.talks import ANA

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from spade_llm.memory.contract import OwnedMemory
    from spade_llm.providers.model import ContextMessage, ToolSpec

    Say = Callable[[str], Awaitable[str]]


@asynccontextmanager
async def a_dialogue() -> AsyncIterator[Say]:
    """Says something to an assistant with a memory and no model, and returns the answer."""
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=backend.for_owner("a@x"), retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)

        async def say(text: str) -> str:
            return (await assistant.answer(an_utterance(text, peer=ANA))).text

        yield say


@pytest.mark.parametrize(
    ("told", "request_", "question", "gone"),
    [
        # All words of the message say what is meant.
        (
            ["my salary is 2100 a month", "my shoe size is 41"],
            "my wife reads this. Would you mind taking my salary out of your notes?",
            "what's my salary?",
            "2100",
        ),
        (
            ["mi religión es la budista", "calzo un 41"],
            "preferiría que mi religión no constara en ningún sitio",
            "¿cuál es mi religión?",
            "budista",
        ),
        # No word of it does: it is what was said last.
        (
            ["my shoe size is 41", "Priya's pregnant"],
            "she'd be furious, so you'd better unknow it",
            "is Priya pregnant?",
            "pregnant",
        ),
        # A part of a statement.
        (
            ["locker is number 118, keypad is 5530"],
            "wipe the keypad digits, but hang on to the number of the locker",
            "what's the keypad code?",
            "5530",
        ),
    ],
)
async def test_a_request_in_any_words_is_carried_out(
    told: list[str], request_: str, question: str, gone: str
) -> None:
    async with a_dialogue() as say:
        for text in told:
            await say(text)

        assert re.search("forgotten|olvidado", await say(request_))
        assert gone not in await say(question)
        assert re.search("41|118", await say("what's my shoe size and my locker number?"))


async def test_an_idiom_forgets_nothing() -> None:
    async with a_dialogue() as say:
        await say("I support Carlisle United")

        assert "orgotten" not in await say("a ticket? forget it, they sold out weeks ago")
        assert "Carlisle" in await say("which team do I support?")


async def test_what_is_taken_off_a_list_leaves_the_list() -> None:
    async with a_dialogue() as say:
        await say("lista de la maleta: botas, chubasquero")

        assert "botas" in await say("quita el chubasquero de la lista")
        assert "botas" in await say("¿qué hay en la lista de la maleta?")
        assert "olvidado" in await say("olvida la lista de la maleta")


async def test_a_message_that_changed_what_is_forgotten_goes_with_it() -> None:
    async with a_dialogue() as say:
        await say("me operan del menisco el 3 de mayo")
        assert "17 de mayo" in await say("me pasaron la operación al 17")

        assert "olvidado" in await say("no te guardes lo del menisco")
        assert "17" not in await say("¿cuándo me operan?")


async def test_what_is_named_by_its_kind_is_forgotten_and_the_request_is_no_fact() -> None:
    async with a_dialogue() as say:
        assert "nothing to forget" in await say("I'd rather my tablets weren't on your list")
        assert "tablets" not in await say("what do you know about me?")

        await say("I take citalopram 20mg")
        assert "forgotten it" in await say("I'd rather my tablets weren't on your list")
        assert "citalopram" not in await say("what tablets am I on?")


async def test_a_price_is_forgotten_without_the_home_beside_it() -> None:
    async with a_dialogue() as say:
        await say("we live in a rented flat in Leith, 900 a month")

        assert "forgotten it: 900 a month" in await say("please don't keep our rent")
        assert "900" not in await say("how much is our rent?")
        assert "Leith" in await say("where do we live?")


async def test_what_was_told_with_a_pronoun_is_forgotten_in_the_conversation_too() -> None:
    async with a_dialogue() as say:
        await say("I moved to Leith with my two boys, Ian (9) and Max (5)")
        assert "(boys Ian and Max)" in await say("my ex Gary picks them up every other Friday")

        assert "forgotten" in await say("forget about Gary please")
        assert "Gary" not in await say("who picks the boys up?")
        assert "nothing" in await say("what do you know about Gary?")


@pytest.mark.parametrize("is_cleared", [False, True])
async def test_of_an_episode_only_what_is_meant_is_forgotten(is_cleared: bool) -> None:
    told = ["the wifi is otter-lamp", "Aunt May baked a plum cake", "the boiler man was here"]
    async with (
        SQLiteMemoryBackend(":memory:", is_learned_from=True) as backend,
        MemoryOutbox(None) as outbox,
    ):
        store, learning = backend.for_owner("a@x"), backend.learning()
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)
        for text in told:
            await assistant.answer(an_utterance(text, peer=ANA, id=text))
        await memory.hand_over(ANA)
        for one in (await learning.due()).ranges:
            drafts = cut_episodes(replace(one, is_closed=True), now=one.messages[-1].at)
            await learning.save_episodes(one, drafts)
            if is_cleared:
                await store.clear_messages([one.conversation])

        request = an_utterance("forget the wifi", peer=ANA, id="forget")
        answer = await assistant.answer(request)

        listed = (await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)))).entries
        history = [one.content for one in await store.history(ANA)]

    assert "forgotten" in answer.text
    assert [one.content.partition(": ")[2] for one in listed] == [
        "user: Aunt May baked a plum cake. the boiler man was here"
    ]
    assert not any("otter" in one for one in history)
    assert ("Aunt May baked a plum cake" in history) is not is_cleared


async def test_a_fact_is_forgotten_in_words_and_comes_back_with_undo() -> None:
    async with a_dialogue() as say:
        await say("I live in Madrid")
        await say("my hobby is pottery")

        assert "forgotten it: you live in Madrid" in await say(
            "Please forget that I live in Madrid"
        )
        assert "Madrid" not in await say("where do I live?")
        assert "pottery" in await say("what's my hobby?")

        assert "It is back" in await say("/undo")
        assert "Madrid" in await say("where do I live?")
        assert "nothing to undo" in await say("/undo")

        await say("forget that I live in Madrid")
        assert "It is back" in await say("oops, undo that!")
        assert "Madrid" in await say("where do I live?")
        assert "It is back" not in await say("undo")


async def test_a_change_of_another_conversation_is_told_in_the_words_of_the_fact() -> None:
    async with a_dialogue() as say:
        await say("the brochure is due on 4 May")
        await say("/new")

        changed = await say("the printer pushed the brochure back a week, to the 11th")
        assert "the brochure is due on 11th May" in changed

        await say("/new")
        assert "11th May" in await say("when is the brochure due?")
        assert "4 May" in await say("and before?")


async def test_a_number_is_forgotten_without_what_stands_beside_it() -> None:
    async with a_dialogue() as say:
        await say("my plumber is Ray Poole, his number is 07700 900555")
        await say("my contact at Alder is Meg Hale, meg@alder.example")

        assert "forgotten it: your plumber Ray Poole's number is 07700 900555" in await say(
            "forget the plumber's number"
        )
        assert "900555" not in await say("what is my plumber's number?")
        assert "Ray Poole" in await say("who is my plumber?")

        assert "It is back" in await say("undo")
        assert "900555" in await say("what is my plumber's number?")

        assert "meg@alder.example" in await say("please delete Meg's email")
        assert "Meg Hale" in await say("who is my contact at Alder?")


async def test_of_two_illnesses_the_named_one_is_forgotten() -> None:
    async with a_dialogue() as say:
        await say("I was diagnosed with depression")
        await say("I have asthma")

        assert "asthma" not in await say("forget about the depression")
        assert "asthma" in await say("do I have asthma?")


async def test_a_password_is_found_although_it_was_told_without_that_word() -> None:
    async with a_dialogue() as say:
        await say("The wifi at my mum's place is sunflower42")

        assert "forgotten it" in await say("forget the wifi password")
        assert "sunflower42" not in await say("what's mum's wifi?")


async def test_what_is_forgotten_leaves_the_summary_and_the_selection_of_a_long_conversation() -> (
    None
):
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=backend.for_owner("a@x"), retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)
        strategy = assistant.strategy = AdaptiveSmartContext(1200)
        said = an_utterance("I live in Madrid", peer=ANA)
        await assistant.answer(said)
        conversation = assistant.conversations.get(said.conversation, peer=ANA)
        for number in range(60):
            conversation.extend([user_message(f"Parcel {number} came.", peer=ANA)])
            conversation.extend([{"role": "assistant", "content": f"Parcel {number}, then."}])
            strategy.apply_context_strategy([*conversation.messages, user_message("?", peer=ANA)])
        await strategy.work_ahead(conversation.messages)

        await assistant.answer(an_utterance("Please forget that I live in Madrid", peer=ANA))

        question = user_message("where do I live?", peer=ANA)
        context = strategy.apply_context_strategy([*conversation.messages, question])
        assert "Parcel 59" in str(context)
        assert "Madrid" not in str(context)
        kept = strategy._histories._by_last.values()
        assert [one for notes in kept for one in notes.messages if "Madrid" in str(one)] == []


async def test_a_corrected_fact_is_forgotten_with_its_former_values() -> None:
    async with a_dialogue() as say:
        await say("Hi! I'm Pedro, and my sister's called Ana")
        await say("I moved to Valencia last month")
        assert "Anna" in await say("she's not called Ana, it's Anna")

        assert "forgotten" in await say("forget that my sister is called Anna")
        answer = await say("what's my sister's name?")
        assert "Ana" not in answer
        assert "Anna" not in answer
        assert "Valencia" in await say("where do I live?")


async def test_former_values_of_the_fact_are_no_choice() -> None:
    async with a_dialogue() as say:
        await say("my phone number is 612345678")
        await say("my new phone number is 699999999")

        assert "forgotten" in await say("forget my phone number")
        assert "6" not in await say("what is my phone number?")
        assert "6" not in await say("what was my old phone number?")


async def test_the_present_value_is_meant_unless_a_former_one_is_named() -> None:
    async with a_dialogue() as say:
        await say("my dentist is Dr Who")
        await say("I have a new dentist, Dr No")
        assert "Dr No" in await say("forget who my dentist is")

        await say("I live in Rome")
        await say("I moved to Oslo")
        assert "Rome" in await say("forget that I live in Rome")
        assert "Oslo" in await say("where do I live?")


async def test_several_memories_that_fit_are_asked_about() -> None:
    async with a_dialogue() as say:
        await say("my brother Ben is in prison")
        await say("my brother Luke is a chef")

        asked = await say("forget what I said about my brother")
        assert asked.startswith("Which one")
        assert "Ben" in asked
        assert "Luke" in asked
        assert "prison" in await say("Ben")
        assert "chef" in await say("what does my brother Luke do?")


async def test_the_last_statement_is_forgotten_in_spanish() -> None:
    async with a_dialogue() as say:
        await say("mi PIN es 7733")

        assert "olvidado" in await say("olvida lo que acabo de decir")
        assert "7733" not in await say("¿cuál es mi PIN?")


@pytest.mark.parametrize(
    ("text", "is_explicit"),
    [
        ("forget my email address", True),
        ("delete my last email", False),
        ("delete what I told you about my email", True),
        ("borra mi último correo", False),
    ],
)
def test_a_request_that_may_be_meant_for_a_tool_is_told_apart(text: str, is_explicit: bool) -> None:
    request = read_forget_request(text)

    assert request is not None
    assert request.is_explicit is is_explicit


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("I don't want you to know about my blood pressure", "my blood pressure"),
        ("oh god, forget I ever mentioned Felipe", "Felipe"),
        ("no te acuerdes de esto, que es un secreto", ""),
        ("olvida que te he hablado de Felipe", "Felipe"),
        ("pretend I never told you about Kate", "Kate"),
        # Questions, and orders that are put politely.
        ("¿puedes olvidar cuánto peso?", "cuánto peso"),
        ("¿sería posible que borraras lo de Marcos?", "Marcos"),
        ("would it be possible to erase what I said about Kate?", "Kate"),
        ("is there any way to make you forget my old address?", "my old address"),
        ("olvídate de lo de Marcos, ¿vale?", "Marcos"),
        ("wipe Kate from your memory, ok?", "Kate"),
        ("it'd be nice if you could forget about Kate", "Kate"),
        ("I'd rather you forgot my weight", "my weight"),
        ("mejor que no guardes mi peso", "mi peso"),
        ("I don't want you holding on to my pin", "my pin"),
        ("better not to keep my pin", "my pin"),
        ("ya no hace falta que sepas mi peso", "mi peso"),
        ("borra de tu memoria el nombre de mi gestor", "el nombre de mi gestor"),
        ("any chance you could forget my old address?", "my old address"),
        ("de mi tía no guardes nada", "mi tía"),
        ("I don't want anything about Kate kept", "Kate"),
        ("eso del juicio de Luis era un secreto, quítalo de tu memoria", "juicio de Luis"),
        ("wish I hadn't said about Kate, can you bin that", "Kate"),
        # Without an order to forget.
        ("haz de cuenta que no te dije nada de Marcos", "Marcos"),
        ("nothing about Kate should stay in there", "Kate"),
        ("no quiero que quede constancia de lo de Marcos", "Marcos"),
        ("que lo de Marcos no quede guardado", "Marcos"),
        ("that stuff about my cousin's trial – gone please", "my cousin's trial"),
        ("you didn't hear that thing about Kate from me", "Kate"),
        ("on second thoughts, keep the bit about Kate out of it", "Kate"),
        ("no debí contarte lo del juicio, olvídalo", "lo del juicio"),
        ("haz como si no te hubiera dicho nada de Sergio", "Sergio"),
        ("that about Kate was confidential, please wipe it", "Kate"),
        ("for goodness' sake scrap what I told you about Tim", "Tim"),
        ("drop the part about my loan, others read this", "my loan"),
        ("eso que te dije de mi casero bórralo ya", "mi casero"),
        ("lets not keep the stuff about my loan", "my loan"),
        ("take my phone number off your records", "my phone number"),
        ("saca lo del perro", "perro"),
        ("that very last thing I said, delete it please", ""),
        ("take my allergy off your list", "my allergy"),
        ("Felipe cancelled, you can delete that one", "Felipe cancelled"),
        ("olvida eso que acabo de contarte de mi jefe", "mi jefe"),
        ("the loan is nobody's business, please take it out", "the loan"),
        ("you needn't keep my locker code any longer", "my locker code"),
        ("mi número de tarjeta bórralo", "mi número de tarjeta"),
        ("let's pretend I never mentioned Kate", "Kate"),
        ("would you mind forgetting what I owe?", "what I owe"),
        ("ditch my old address, I've moved", "my old address"),
        ("eso de que fumo no lo guardes", "fumo"),
        ("preferiría que dejaras de saber lo de mi multa", "mi multa"),
        ("no quiero que recuerde nada de mi yerno", "mi yerno"),
        ("olvide usted lo que le conté de mi yerno", "mi yerno"),
        ("I'd rather you didn't hold on to anything about my aunt", "my aunt"),
        ("I don't want to hear of my cousin Ned ever again, get him out of your notes", "Ned"),
        ("you really shouldn't have my door code, lose it please", "my door code"),
        ("you don't need my shoe size, take it off your list", "my shoe size"),
        ("the loan stuff was private, please don't keep it", "the loan"),
        ("please un-know my salary", "my salary"),
        ("lo de la multa no te lo tenía que haber contado, bórralo anda", "multa"),
        ("lo de mi deuda ya lo puedes ir borrando", "mi deuda"),
        ("a Petra no me la nombres más", "Petra"),
        ("can u wipe my shoe size pls, dont want that stored", "my shoe size"),
        ("shouldnt have told u the pin, get rid of it haha", "the pin"),
        ("kindly delete my sort code from your records", "my sort code"),
        ("anything u know about Otto can go in the bin thanks", "Otto"),
        ("Anything you hold about my ex, I want it gone.", "my ex"),
        ("todo lo que sepas de Otto, al olvido", "Otto"),
        ("lo de mi multa no lo conserve", "mi multa"),
        ("lo de Otto sácalo de ahí", "Otto"),
        ("olvida lo que mi madre dijo", "lo que mi madre dijo"),
        ("del préstamo no quiero que quede ni rastro", "préstamo"),
        ("quita lo de la fiesta que mi marido lee esto", "fiesta"),
        ("it's daft to keep the alarm code in a chat, get rid of it please", "the alarm code"),
        ("would you mind awfully forgetting what I said about Otto? it's early days", "Otto"),
        ("so bin the locker number would you, it's no use any more", "locker number"),
        ("I was cross with Una, she's fine, forget I ever said anything about her", "Una"),
        ("ay, no tenía que haberte dado la clave, olvídala por favor", "la clave"),
        ("te agradecería que eliminaras mi correo de tus notas", "mi correo"),
        ("borra a mi ex de tu memoria, que lo quiero superar", "mi ex"),
        ("Borre, por favor, la clave del portal", "la clave del portal"),
        ("Delete, please, the code of the shed", "code of the shed"),
        ("lose that gym locker code", "gym locker code"),
        ("Zoe's number can go as well", "Zoe's number"),
        ("no debería dar contraseñas, olvida la del correo", "contraseñas del correo"),
        (
            "my husband reads this, so the coffee with Dan had better not be in here",
            "coffee with Dan",
        ),
        (
            "i meant to give you the locker number. the code you can chuck out again",
            "code chuck out again",
        ),
        ("como mi suegra vea lo de las croquetas me deshereda, descártalo", "croquetas"),
        ("What I make is none of your business. Wipe it", "What I make"),
        ("remove the figure", "figure"),
        ("my medication is between me and Dr Lomax. forget it", "my medication"),
    ],
)
def test_what_is_meant_by_a_request(text: str, topic: str) -> None:
    request = read_forget_request(text)

    assert request is not None
    assert request.topic == topic


@pytest.mark.parametrize(
    ("told", "text", "gone", "left"),
    [
        (
            ("my blood type is O negative", "my shoe size is 9", "I live in Hull"),
            "forget my blood type and my shoe size",
            ("negative", "9"),
            "Hull",
        ),
        (
            ("I was born in Turin", "I was born on 4 June 1979"),
            "forget where I was born, but keep the date",
            ("Turin",),
            "June",
        ),
        (
            ("my mum's maiden name is Kowalska", "my mum lives in Leeds"),
            "forget my mum's maiden name but not where she lives",
            ("Kowalska",),
            "Leeds",
        ),
        (
            ("I'm seeing a therapist on Thursdays", "I live in Hull"),
            "forget it, the therapist thing is private",
            ("therapist",),
            "Hull",
        ),
        (
            ("my salary is 41k", "I live in Hull"),
            "my salary is confidential, please don't keep it",
            ("41k", "confidential"),
            "Hull",
        ),
        # Nothing of the same kind, and all that mentions a name.
        (("I sold the Skoda", "I live in Hull"), "forget the engine size", ("…",), "Skoda"),
        (
            ("my uncle Bert lives in Bray", "I owe Bert 300 for the boat", "I live in Hull"),
            "forget everything about Bert",
            ("Bert", "Bray"),
            "Hull",
        ),
        (
            ("tengo psoriasis", "vivo en Soria"),
            "borra lo de mi enfermedad de la piel, la psoriasis",
            ("psoriasis",),
            "Soria",
        ),
        (
            ("tomo ansiolíticos", "vivo en Soria"),
            "preferiría que no supieras lo de los ansiolíticos",
            ("ansio",),
            "Soria",
        ),
    ],
)
async def test_what_a_request_names_is_forgotten_and_no_more(
    told: tuple[str, ...], text: str, gone: tuple[str, ...], left: str
) -> None:
    async with a_dialogue() as say:
        for one in told:
            await say(one)
        await say(text)
        known = await say("what do you know about me?")

    assert not any(one in known for one in gone)
    assert left in known


async def test_a_request_with_two_things_one_of_them_unclear_is_asked_about() -> None:
    async with a_dialogue() as say:
        for one in ("my blue bag is at Ana's", "my red bag is in the car", "I live in Hull"):
            await say(one)
        answer = await say("forget my bag and where I live")

    assert answer.startswith("Which one do you mean?")


@pytest.mark.parametrize(
    "text",
    [
        "please don't remember this: I voted for the Greens",
        "Don't store this, but I voted for the Greens",
        "off the record: I voted for the Greens",
        "don't remember this: I was a Green, and voted for the Greens",
        "between us, and don't save it: I voted for the Greens",
        "esto que quede entre nosotros y no lo apuntes: he votado a los Greens",
        "I voted for the Greens. Don't write that down, please",
        "I voted for the Greens (no need to keep this)",
        "No lo recuerdes: he votado a los Greens",
        "esto no lo guardes: he votado a los Greens",
        "he votado a los Greens, pero no te lo apuntes",
    ],
)
async def test_what_is_not_to_be_remembered_is_stored_nowhere(text: str) -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        behaviour = MemoryBehaviour(memory=memory, retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), behaviour)
        reply = await assistant.answer(an_utterance(text, peer=ANA))
        asked = await assistant.answer(an_utterance("who did I vote for?", peer=ANA))
        await behaviour.hand_over(ANA)
        which = MemoryFilter(subject=ANA)
        query = MemoryQuery(text="voted Greens votado", which=which, with_messages=True)
        found = await memory.search(query)

    assert "Greens" not in reply.text + asked.text
    assert not any("Greens" in one.entry.content for one in found.hits)


@dataclass(slots=True)
class ListeningModel(NonStreamingModel):
    """A model that notes what it is given."""

    name: str = "listening"
    read: list[str] = field(default_factory=list)
    tools: list[set[str]] = field(default_factory=list)

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: object = None,
        sampling: object = None,
    ) -> Completion:
        self.read.append(str(messages))
        self.tools.append({one.name for one in tools})
        return Completion(text="I see.")


async def test_a_model_reads_what_is_not_to_be_remembered_and_cannot_store_it() -> None:
    model = ListeningModel()
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        behaviour = MemoryBehaviour(memory=memory, retriever=None, outbox=outbox)
        assistant = an_assistant(model, behaviour)
        await assistant.answer(an_utterance("don't store this, but I lost my job", peer=ANA))
        await assistant.answer(an_utterance("can you help?", peer=ANA, id="2"))
        await behaviour.hand_over(ANA)
        kept = await memory.history(ANA, limit=10)

    assert ["store_memory" in offered for offered in model.tools] == [False, True]
    assert all("I lost my job" in read for read in model.read)
    assert [one.content for one in kept] == ["can you help?", "I see."]


@pytest.mark.parametrize(
    "text",
    [
        "I don't remember this, but I think it was red",
        "don't forget this: my flight is at 9",
        "I bought bread, don't store it in the fridge",
        "why don't you remember this: I live in Rome",
        "my band is called Off the Record",
        "no lo recuerdo, pero era azul",
    ],
)
def test_what_may_be_remembered(text: str) -> None:
    assert not is_off_the_record(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget that, it's on Friday",
        "my brother forgets what I told him",
        "Ana olvida lo que le digo",
        "saca la basura",
        "Forget it",
        "don't forget that I live in Rome",
        "I forgot my keys",
        "can I forget you?",
        "el perro sácalo luego",
        "la mancha la puedes quitar con agua",
        "you don't need my car to get there",
        "you shouldn't have the cheese with that",
        "you need to get her out of your head",
        "you can take the bus from there",
        "I keep my dog out of the kitchen",
        "my phone's gone",
        "my address book is gone",
        "not to mention my bad knee",
        "let's skip my birthday this year",
        "can we drop the boys off at 8?",
        "you didn't hear it from me, but Sue's pregnant",
        "I'd rather you dropped me at the station",
        "leave my mum out of it",
        "nothing about Kate surprises me",
        "I'd rather you spoke Spanish",
        "is there any way to get to Hull by 9?",
        "I want my money back",
        "can we pretend it's Friday?",
        "haz como si nada",
        "she never heard about it from me",
        "it's time to sell the sofa, it has to go",
        "my wisdom teeth need to be removed on Friday",
        "the bus goes no further than Leith",
        "I can't get to work from here",
        "I can't find my glasses in there",
        "he acts as if it had never happened",
        "there's no way to forget my school days",
        "no, it's all in your head",
        "did my birthday slip your mind?",
        "I keep losing the code for the gate",
        "I keep forgetting my PIN, it drives me mad",
        "the bins are full, so please take the bins out",
        "the milk's not kept in the fridge",
        "my bike? stolen. gone.",
        "this weekend I have to paint the hall, remove the old tiles, delete my old photos",
        "hay que pintar el pasillo, quitar los azulejos y borrar las fotos viejas",
        "the surgeon said the mole must be removed",
        "the nurse told my mum, delete that number",
        "forget diets, I say, life's too short",
        "the parrot shouts «delete it, delete it» all day",
        "busco una casa que no tenga escaleras",
        "y no queda leche en la nevera",
        "voy a dejar de tener perro",
        "mi marido hace como que no me oye",
        "me suelo quedar en blanco en los exámenes",
        "mi hermano se va de aquí en junio",
        "las botas de montaña son Salomon",
        "mi madre no puede estar sola",
        "me da miedo que no aparezca el gato",
        "la tele no la quiero en el salón",
        "a los alumnos les digo: lo que no se repasa, se olvida",
        "Gael, no guardes los juguetes mojados en el arcón",
        "con lo que cuesta, olvídate de ir a un hotel",
        "the bin lorry comes on Thursdays, so out it goes on Wednesday evening",
        "I lose that bus pass every week",
        "the old code can't be used",
        "we act like it never happened, my ex and I",
        "he was told that the appendix has to be taken out",
        "my name was left off the list",
        "I couldn't have it in writing, the landlord refused",
        "we couldn't stay in there, too cold",
        "can you take the bins out tomorrow? I said to my son",
        "me borraron la cuenta de correo, qué rabia",
        "que no salga el tren a las 8 es un problema",
        "como si no lo hubiera visto nunca, me saludó mi ex",
        "no lo dejes ahí, le dije a mi hijo",
        "prefiero que esté aquí mi madre",
        "I'd rather you had no sugar, said the nurse",
    ],
)
def test_what_is_no_request(text: str) -> None:
    assert read_forget_request(text) is None


def test_only_the_beginning_of_a_long_message_is_read_in_other_forms() -> None:
    request = "her number has to go"
    pasted = "a page of notes, " * (MAX_CHARS // 10)

    assert implied_requests(f"{request}. {pasted}")
    assert not implied_requests(f"{pasted}. {request}")


def test_a_request_in_other_forms_means_no_fact_of_the_same_day() -> None:
    facts = ["I pay the gardener on Thursdays", "my exam is on 3 May at 10"]

    assert closest("letter council lorry Thursday", facts) == []
    assert closest("the gardener", facts) == [0]
    assert closest("Thursdays", facts) == [0]


def test_the_number_of_something_else_is_not_meant() -> None:
    facts = ["my card ends in 9921", "the locker at the pool is number 64"]

    assert closest("card number", facts) == [0]
    assert matching("the card number", facts) == []
    assert closest("mi año de nacimiento", ["Nací en 1979", "Mi mujer nació en 1983"]) == [0]


@pytest.mark.parametrize("topic", ["my gym PIN", "my PIN", "my bank password", "the card's PIN"])
def test_a_secret_of_something_else_is_not_meant(topic: str) -> None:
    facts = ["The wifi password is heron4", "Our dog is called Rex"]

    assert matching(topic, facts) == closest(topic, facts) == []
    assert matching("the wifi code", facts) == [0]


class AwayOnce:
    """A memory that is away for the next call of one method."""

    def __init__(self, memory: OwnedMemory) -> None:
        self._memory = memory
        self.away_for = ""

    def __getattr__(self, name: str) -> object:
        if name != self.away_for:
            return getattr(self._memory, name)
        self.away_for = ""
        raise PeerUnavailable("away", peer="memory@x")


@pytest.mark.parametrize("step", ["search", "retract", "forget"])
async def test_a_request_can_be_repeated_after_memory_was_away(step: str) -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        away = AwayOnce(backend.for_owner("a@x"))
        memory = MemoryBehaviour(memory=cast("OwnedMemory", away), retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)

        async def say(text: str) -> str:
            return (await assistant.answer(an_utterance(text, peer=ANA))).text

        await say("my brother Ben is in prison")
        await say("my brother Luke is a chef")
        await say("forget what I said about my brother")
        away.away_for = step
        assert "cannot be reached" in await say("Ben")
        assert "forgotten it: your brother Ben" in await say("Ben")

        away.away_for = "add"
        assert "cannot be reached" in await say("/undo")
        assert "It is back: your brother Ben" in await say("/undo")


async def test_a_number_is_answered_in_the_language_of_the_request() -> None:
    async with a_dialogue() as say:
        await say("mi hermano Ben está en la cárcel")
        await say("mi hermano Lucas es cocinero")
        assert "¿Cuál" in await say("olvida lo que te dije de mi hermano")

        assert "Lo he olvidado" in await say("2")
        assert "Ha vuelto" in await say("/undo")


async def test_a_question_chooses_nothing() -> None:
    async with a_dialogue() as say:
        await say("my brother Ben is in prison")
        await say("my brother Luke is a chef")
        await say("forget what I said about my brother")

        assert "prison" in await say("where is my brother Ben?")


async def test_what_was_no_longer_true_is_not_true_after_undo() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        store = backend.for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)
        entry = await store.add(MemoryDraft(content="I live in Madrid", subject=ANA))
        await store.update(MemoryChange(id=entry.id, invalid_at=entry.created_at))

        forget = an_utterance("forget that I live in Madrid", peer=ANA)
        assert "forgotten it" in (await assistant.answer(forget)).text
        assert "is back" in (await assistant.answer(an_utterance("/undo", peer=ANA))).text

        assert not (await store.list(MemoryFilter(subject=ANA))).entries
        (former,) = (await store.list(MemoryFilter(subject=ANA, with_invalid=True))).entries
        assert former.invalid_at == former.holds_since == entry.created_at


async def test_another_person_can_neither_choose_nor_undo() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=backend.for_owner("a@x"), retriever=None, outbox=outbox)
        assistant = an_assistant(OfflineProvider(), memory)

        async def say(text: str, *, peer: str = ANA) -> str:
            return (await assistant.answer(an_utterance(text, peer=peer))).text

        await say("I live in Madrid")
        await say("I live in Madrid", peer="bob@x")
        await say("forget that I live in Madrid")

        assert "nothing to undo" in await say("/undo", peer="bob@x")
        assert "Madrid" in await say("where do I live?", peer="bob@x")
        assert "Madrid" not in await say("where do I live?")


async def test_things_of_one_kind_are_told_apart() -> None:
    async with a_dialogue() as say:
        await say("my red bag is at the gym")
        await say("my black bag is in the car")

        assert "Which one" in await say("forget what I said about my bag")
        assert "red bag" in await say("the red one")
        assert "car" in await say("where is my black bag?")


async def test_a_request_for_something_unknown_deletes_nothing_else() -> None:
    async with a_dialogue() as say:
        await say("mi compañera de oficina se llama Romina")
        await say("la compu es de la oficina, así que lo de la multa no lo dejes por aquí")

        assert "Romina" in await say("¿cómo se llama mi compañera de oficina?")


async def test_the_reason_of_a_request_is_not_what_is_meant() -> None:
    async with a_dialogue() as say:
        await say("my boyfriend Patrick plays rugby")
        await say("I had coffee with Dominic on Saturday")

        told = await say("Patrick reads over my shoulder, best if that coffee isn't on record")

        assert "forgotten" in told
        assert "Dominic" not in await say("who did I have coffee with on Saturday?")
        assert "rugby" in await say("what does Patrick play?")
