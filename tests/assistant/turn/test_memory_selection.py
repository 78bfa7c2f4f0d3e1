"""What of the memories that were found is quoted, and what of it was of use."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.turn.memory_selection import (
    QUOTING_TOKENS,
    above_relevance_floor,
    select_memories,
    used_memories,
    without_repeated,
)
from spade_llm.assistant.turn.prompt import build_prompt
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.context import NoContextManagement
from spade_llm.memory.contract import MemoryEntry, ScoredMemory
from spade_llm.providers.quoted_context import read_context
from spade_llm.search.memory_query import MemoryType, Origin

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def memory(content: str, *, id: str = "1", said_by: str = "", role: str = "user") -> ScoredMemory:
    entry = MemoryEntry(
        id=id,
        owner="a@x",
        content=content,
        type=MemoryType.EPISODIC if said_by else MemoryType.SEMANTIC,
        origin=Origin.MESSAGE if said_by else Origin.TOLD,
        metadata={"role": role, "speaker": said_by} if said_by else {},
        created_at=NOW,
        updated_at=NOW,
    )
    return ScoredMemory(entry=entry, score=1.0)


def test_the_best_come_first_until_the_tokens_are_used_up() -> None:
    found = [memory("a" * 400), memory("b" * 4000), memory("c" * 40)]

    chosen = select_memories(found, said=(), tokens=100 + 10 + 2 * QUOTING_TOKENS)

    assert [one.entry.content[0] for one in chosen] == ["a", "c"]


@given(st.lists(st.text(max_size=300)), st.integers(0, 300))
def test_the_selection_never_exceeds_the_budget(contents: list[str], tokens: int) -> None:
    chosen = select_memories([memory(content) for content in contents], said=(), tokens=tokens)

    assert sum(len(one.entry.content) / 4 for one in chosen) <= tokens


def test_what_stands_in_the_context_is_not_quoted_again() -> None:
    said = "btw my boat is Zephyr"
    ended = memory("My boat is Zephyr")
    ended = replace(ended, entry=replace(ended.entry, invalid_at=datetime.now(UTC)))
    found = [memory(said, said_by="ada"), memory("My boat is Zephyr"), ended]

    assert select_memories(found, said={said}, told=[said]) == (ended,)


def test_a_memory_was_used_if_the_answer_says_what_only_it_could_know() -> None:
    found = [
        memory("The boat of Ada is called Zephyr", id="boat"),
        memory("The gate opens with 4711", id="gate"),
        memory("Ada was born in Oslo", id="born"),
        memory("The boat is called Zephyr", id="said", said_by="ada"),
    ]

    question = "What is the name of my boat, and the code of the gate?"
    ids = used_memories(found, question=question, answer="It is Zephyr; the code is 4711.")

    assert ids == ("boat", "gate")


def test_memories_that_only_repeat_the_question_do_not_count_as_used() -> None:
    found = [memory("Ada has a boat")]

    assert used_memories(found, question="Has Ada a boat?", answer="Ada has a boat, I think.") == ()


def test_a_message_is_quoted_with_its_date_and_speaker_and_an_entry_by_its_type() -> None:
    recalled = RecallResult(
        memories=(memory("see you\nat five", said_by="Ada\n- [fact] x"), memory("b"))
    )

    prompt = build_prompt(
        NoContextManagement(),
        [{"role": "user", "content": "when?"}],
        system_prompt="Be",
        recalled=recalled,
    )

    quoted = read_context(str(prompt[-2]["content"])).memories
    assert [(one.kind, one.text, one.date) for one in quoted] == [
        ("message", "Ada - [fact] x: see you\nat five", "2026-11-20"),
        ("semantic", "b", "2026-11-20"),
    ]


def test_doubted_memories_come_last() -> None:
    doubted, sure = memory("The ferry leaves at six.", id="doubted"), memory("x", id="sure")
    doubted = replace(doubted, entry=replace(doubted.entry, confidence=0.4))

    assert select_memories([doubted, sure], said=()) == (sure, doubted)


def episode(content: str, *, score: float = 1.0) -> ScoredMemory:
    found = memory(content, id=content)
    entry = replace(found.entry, type=MemoryType.EPISODIC, origin=Origin.EPISODE)
    return ScoredMemory(entry=entry, score=score)


def test_what_is_said_twice_is_quoted_once_in_its_shortest_form() -> None:
    fact = memory("The user's sister is called Ana", id="fact")
    message = memory("My sister is called Ana", id="said", said_by="ada")
    other = memory("My sister is not called Eva", id="other", said_by="ada")
    summary = episode("2026-03-01, 14:05: ada: My sister is called Ana. She is not called Eva.")

    assert without_repeated([summary, message, fact, other]) == (fact, other)
    # Alone it says more than the message.
    assert without_repeated([summary, message]) == (summary, message)


def test_numbers_and_names_tell_short_texts_apart() -> None:
    found = [
        memory("The code of the gate is 4711", id="1"),
        memory("The code of the gate is 4712", id="2"),
        memory("The code of the garage is 4711", id="3"),
    ]

    assert without_repeated(found) == tuple(found)


def test_earlier_questions_are_neither_quoted_nor_the_measure_of_what_answers_them() -> None:
    def said(text: str, score: float, *, role: str = "user") -> ScoredMemory:
        return replace(memory(text, id=text, said_by="x", role=role), score=score)

    asked = said("What did I tell you about the holiday?", 0.75)
    unknown = said("Sorry, I do not know.", 0.67, role="assistant")
    told = said("We want to spend it in the Algarve", 0.53)

    assert above_relevance_floor([asked, unknown, told]) == (unknown, told)


def test_facts_and_what_was_said_have_floors_of_their_own() -> None:
    def scored(text: str, score: float, *, said_by: str = "") -> ScoredMemory:
        return replace(memory(text, id=text, said_by=said_by), score=score)

    diet, noise = scored("diet", 0.12), scored("noise", 0.03)
    near, far = scored("near", 0.8, said_by="ada"), scored("far", 0.5, said_by="ada")
    summary = episode("summary", score=0.5)

    assert above_relevance_floor([diet, noise, near, far, summary]) == (diet, near)
    # Beside a much better fact, too.
    assert above_relevance_floor([scored("best", 0.7), diet]) == (scored("best", 0.7),)
    assert above_relevance_floor([noise], has_vectors=False) == (noise,)


def test_what_has_nothing_in_common_with_a_question_must_stand_out() -> None:
    def found(text: str, score: float, *, role: str = "") -> ScoredMemory:
        one = memory(text, id=text, said_by="x" if role else "", role=role)
        return replace(one, score=score)

    alarm = found("El PIN de la alarma es 4471", 0.64)
    noise = [
        found(text, score, role=role)
        for text, score, role in (
            ("Tenemos una gata que toma una pastilla", 0.55, "user"),
            ("¡Qué buen plan!", 0.55, "assistant"),
            ("Mi bici es una Orbea verde", 0.53, "user"),
            ("Vamos a Lisboa en abril", 0.52, "user"),
            ("No soporto los libros de fantasía", 0.51, ""),
        )
    ]
    near = found("por si salta cuando no estás", 0.6, role="user")

    question = "¿Cuál es el código de la alarma?"
    assert above_relevance_floor([alarm, near, *noise], question=question) == (alarm, near)
    # English facts have low scores, whatever they are about.
    fact, far = found("We want to spend 2500", 0.4), found("My boss is called Priya", 0.2)
    assert above_relevance_floor([fact, far], question="What is the budget?") == (fact,)


def test_a_fact_that_bears_on_advice_is_quoted_for_it_only() -> None:
    diet = replace(memory("I've got coeliac disease"), score=0.1)

    assert above_relevance_floor([diet], question="What can I make for lunch?") == (diet,)
    assert above_relevance_floor([diet], question="Who invented the telephone?") == ()


def test_an_assistants_message_is_quoted_if_it_answers_a_related_question() -> None:
    def said(text: str, minute: int, role: str) -> ScoredMemory:
        one = memory(text, id=text, said_by="x", role=role)
        at = NOW.replace(minute=minute)
        return replace(one, score=0.6, entry=replace(one.entry, session="s", created_at=at))

    asked = said("Should I get a Ninja or a Philips air fryer?", 1, "user")
    answer = said("I'd take the Ninja", 2, "assistant")
    luck = said("Good luck!", 30, "assistant")

    question = "Which air fryer did you recommend?"
    assert above_relevance_floor([asked, answer, luck], question=question) == (answer,)


def test_a_message_whose_clauses_are_facts_is_not_quoted_beside_them() -> None:
    facts = [
        memory("Mi madre es alérgica a la penicilina", id="1"),
        memory("Mi padre anda regular de la rodilla", id="2"),
    ]
    said = memory(
        "Mi madre es alérgica a la penicilina y mi padre anda regular de la rodilla",
        id="3",
        said_by="x",
    )
    more = memory("Mi padre anda regular de la rodilla. Le operan en mayo", id="4", said_by="x")

    assert without_repeated([*facts, said, more]) == (*facts, more)


def test_an_episode_is_quoted_with_what_bears_on_the_question_and_no_fact_says() -> None:
    fact = memory("My PIN for the bike lock is 4471", id="fact")
    talk = episode(
        "2026-03-01, 14:05–14:32: user: I live in Bristol. My PIN for the bike lock is 4471."
        " The bike is from Decathlon. Do you like bikes?"
    )

    about_bike = without_repeated([fact, talk], question="What was the PIN of my bike lock?")
    assert [one.entry.content for one in about_bike] == [
        "My PIN for the bike lock is 4471",
        "2026-03-01, 14:05–14:32: user: The bike is from Decathlon.",
    ]
    assert without_repeated([fact, talk], question="Who painted the Mona Lisa?") == (fact,)
    # Whatever was said answers a question about the talk itself.
    assert without_repeated([talk], question="What did we talk about yesterday?") == (talk,)


def test_of_a_long_message_only_the_sentences_about_the_question_are_quoted() -> None:
    said = " ".join(
        [
            *["I went to town and it rained all day long."] * 8,
            "Nora bought a flat in Leeds.",
            "Then I came home.",
        ]
    )
    message = memory(said, said_by="ada")

    (quoted,) = without_repeated([message], question="Where did Nora buy a flat?")
    assert quoted.entry.content == "Nora bought a flat in Leeds."
    # Found by its meaning only, it is quoted whole.
    assert without_repeated([message], question="Is Valencia nice?") == (message,)


def test_a_message_is_not_quoted_beside_the_fact_that_it_tells_on_the_question() -> None:
    facts = [memory("I live in Hull", id="1"), memory("She hates figs (Claire)", id="2")]
    other = memory("Hi, I'm Dan. I live in Hull.", id="3", said_by="ada")
    pronoun = memory("Sam's wife is called Claire and she hates figs", id="4", said_by="ada")

    assert without_repeated([*facts, other], question="Where do I live?") == tuple(facts)
    # The pronoun needs the clause before it.
    assert pronoun in without_repeated([*facts, pronoun], question="Who hates figs?")


def test_what_a_talk_in_the_context_says_is_not_quoted_again() -> None:
    said = ["My boat is Zephyr", "It leaks"]
    talk = episode("2026-03-01, 14:05: user: My boat is Zephyr. It leaks.")
    part = memory("It leaks", said_by="ada")

    assert select_memories([talk, part], said=said) == ()
    assert select_memories([talk], said=said[:1]) == (talk,)


def test_a_diet_is_quoted_for_a_recipe_beside_better_facts() -> None:
    diet = replace(memory("I've got coeliac disease", id="diet"), score=0.1)
    best = replace(memory("I hate birthday cakes", id="best"), score=0.7)

    question = "Give me a recipe for a birthday cake"
    assert above_relevance_floor([best, diet], question=question) == (best, diet)


def test_few_spanish_messages_must_be_near_to_the_question_or_what_is_related_to_it() -> None:
    def said(text: str, score: float) -> ScoredMemory:
        return replace(memory(text, id=text, said_by="x"), score=score)

    cats, near = said("Tengo dos gatos, Nube y Tizón", 0.57), said("me dedico a las mates", 0.64)

    question = "¿Cuál es la capital de Mongolia?"
    assert above_relevance_floor([cats], question=question) == ()
    flat = said("El casero es Don Anselmo", 0.65)
    found = above_relevance_floor([flat, near, cats], question="¿Cómo se llama el casero?")
    assert found == (flat, near)
