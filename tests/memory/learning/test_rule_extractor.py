"""Facts without a model: what is plainly said of oneself, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.memory.contract import (
    MemoryEntry,
    ObservedMessage,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.learning.learning_contract import EpisodeReading, ExtractedFacts
from spade_llm.memory.learning.rule_extractor import (
    RuleExtractor,
    extract_stated_facts,
    parse_exclusive_fact,
)
from spade_llm.memory.validation import check_draft
from spade_llm.search.memory_query import Category, MemoryQuery, MemoryType, Origin

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
EPISODE = MemoryEntry(
    id="22222222-2222-4222-8222-222222222222",
    owner="a@localhost",
    content="2026-03-01, 14:05: …",
    type=MemoryType.EPISODIC,
    origin=Origin.EPISODE,
    subject="ana@localhost",
    session="c",
    created_at=AT,
    updated_at=AT,
    valid_at=AT,
)


class Known:
    """Gives the same entries to every query; what a store would rank is not asked here."""

    def __init__(self, *entries: MemoryEntry) -> None:
        self.entries = entries

    async def search(self, query: MemoryQuery) -> SearchResult:
        hits = tuple(ScoredMemory(entry=entry, score=1.0) for entry in self.entries[: query.limit])
        return SearchResult(outcome=SearchOutcome.OK, hits=hits)


def said(text: str, *, speaker: str | None = None, role: str = "user") -> ObservedMessage:
    return ObservedMessage(id=text, role=role, content=text, at=AT, speaker=speaker)


def contents(text: str, *, speaker: str | None = None) -> list[str]:
    return [fact.content for fact in extract_stated_facts([said(text, speaker=speaker)])]


def entry(content: str, *, at: datetime = AT - timedelta(days=9), number: int = 1) -> MemoryEntry:
    return MemoryEntry(
        id=f"33333333-3333-4333-8333-{number:012}",
        owner="a@localhost",
        content=content,
        subject="ana@localhost",
        created_at=at,
        updated_at=at,
    )


async def learned(*messages: ObservedMessage, known: Known | None = None) -> ExtractedFacts:
    reading = EpisodeReading(episode=EPISODE, messages=messages)
    return await RuleExtractor().extract(reading, known or Known())


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Hi, my name is Ana García!", ["The user's name is Ana García"]),
        ("You can call me Ani", ["The user wants to be called Ani"]),
        ("I live in Lisbon with my two cats.", ["The user lives in Lisbon"]),
        ("i live in lisbon", ["The user lives in lisbon"]),
        ("I live in New York, NY.", ["The user lives in New York, NY"]),
        ("I've just moved from Porto to the Netherlands", ["The user lives in the Netherlands"]),
        ("I'm originally from Chile", ["The user is from Chile"]),
        ("My birthday is on March 3rd", ["The user's birthday is March 3rd"]),
        ("My birthday is in May", ["The user's birthday is May"]),
        ("I am 34 years old", ["The user is 34 years old"]),
        (
            "I live in Lisbon and work at a bank.",
            ["The user lives in Lisbon", "The user works at a bank"],
        ),
        ("I work as a nurse", ["The user works as a nurse"]),
        ("I'm allergic to peanuts", ["The user is allergic to peanuts"]),
        ("My wife's name is Eva", ["The user's wife is called Eva"]),
        ("I have two dogs named Rex and Max", ["The user has two dogs named Rex and Max"]),
        ("My favorite color is blue", ["The user's favourite color is blue"]),
        ("I prefer tea over coffee", ["The user prefers tea over coffee"]),
        ("I prefer going to the beach", ["The user prefers going to the beach"]),
        ("I really love hiking because it calms me", ["The user likes hiking"]),
        ("I don't like mushrooms", ["The user dislikes mushrooms"]),
        ("I enjoy my work at NASA", ["The user likes their work at NASA"]),
        (
            "I usually go running with my dog every morning",
            ["The user usually goes running with their dog every morning"],
        ),
        ("Always answer in Spanish, please", ["The user wants answers in Spanish"]),
        (
            "Me llamo Luis y vivo en Valencia",
            ["El usuario se llama Luis", "El usuario vive en Valencia"],
        ),
        ("Sí, vivo en Madrid desde hace dos años.", ["El usuario vive en Madrid"]),
        ("Me he mudado a Bilbao", ["El usuario vive en Bilbao"]),
        ("Trabajo en un banco", ["El usuario trabaja en un banco"]),
        ("Prefiero el té al café", ["El usuario prefiere el té antes que café"]),
        ("Prefiero ir a la playa", ["El usuario prefiere ir a la playa"]),
        (
            "Me gustan los perros, no me gusta el frío",
            ["El usuario: le gustan los perros", "El usuario: no le gusta el frío"],
        ),
        ("Mi cumpleaños es el 3 de mayo", ["El usuario: su cumpleaños es 3 de mayo"]),
        (
            "My boss is called Mr. Smith. I live in the U.S. I like tea.",
            [
                "The user's boss is called Mr. Smith",
                "The user lives in the U.S",
                "The user likes tea",
            ],
        ),
        (
            "I always get up at 7 a.m. every day. I am 34 years old.",
            ["The user usually gets up at 7 a.m. every day", "The user is 34 years old"],
        ),
        (
            "Mi jefe se llama Sr. García. Vivo en EE. UU. desde mayo",
            ["El usuario: su jefe se llama Sr. García", "El usuario vive en EE. UU"],
        ),
        ("Mi perro se llama Toby", ["El usuario: su perro se llama Toby"]),
        ("Suelo correr por las mañanas", ["El usuario suele correr por las mañanas"]),
        ("You are right, my name is Ana", ["The user's name is Ana"]),
        ("I moved to Lisbon from Porto", ["The user lives in Lisbon"]),
        ("I speak English and French", ["The user speaks English and French"]),
        ("Hablo inglés", ["El usuario habla inglés"]),
        ("Estudio medicina", ["El usuario estudia medicina"]),
        ("Trabajo como enfermera", ["El usuario trabaja como enfermera"]),
        ("Tengo dos gatos", ["El usuario tiene dos gatos"]),
        ("Háblame siempre en inglés", ["El usuario quiere respuestas en inglés"]),
    ],
)
def test_what_is_plainly_said_is_a_fact(text: str, facts: list[str]) -> None:
    assert contents(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Lisbon?",
        "¿Vivo en Madrid?",
        "I don't live in Lisbon.",
        "No vivo en Madrid.",
        "I used to live in Rome",
        "I'm moving to Berlin next year",
        "If I lived in Rome I would be happy",
        "Si vivo en Madrid, trabajo en Acme",
        "Imagine I live in Rome",
        "Maybe I prefer tea",
        'She said "I live in Rome"',
        "She says: I live in Rome",
        "> I live in Rome",
        "`I live in Rome`",
        "Translate: I live in Rome",
        "Write a story. My name is Bob.",
        "Traduce esto: vivo en Roma",
        "I live in fear",
        "I'm from a small town",
        "I like it",
        "I love you",
        "I love to!",
        "I love the red one",
        "It stands for hope, love and acceptance",
        "Our love and work for the town goes on",
        "I'd like a coffee",
        "call me later",
        "Call me when you arrive",
        "My birthday is tomorrow",
        "Soy de los que madrugan",
        "I always wanted a horse",
        "Call me Tuesday.",
        "Llámame por teléfono a Madrid.",
        "I hate to say it, but Paris is better.",
        "Odio decirlo, pero Roma es fea.",
        "As Kennedy said, I am from Berlin.",
        "Dicen que soy de Berlín",
        "Imagine you are a pirate. My name is Jack and I live in Tortuga.",
        "You are Sherlock Holmes. My name is Watson.",
        "In this game my name is Rex and I live in Tortuga.",
        "Dear Bob,\nMy name is Carla and I live in Rome.\nBest,\nCarla",
        "Subject: hello\n\nMy name is Carla.",
        "Oh great, I love waiting in line for three hours.",
        "Sure, I love being ignored. /s",
        "Me encanta esperar tres horas, claro.",
        "My name is Batman lol",
        "I live in Rome. Just kidding!",
        "I live in Rome. No, that's a lie.",
        "I live in Rome, not.",
        "I live in Rome — not really.",
        "I moved to Python.",
        "I moved to Linux from Windows.",
        "Me mudé a Linux.",
        "I moved to Plan B.",
        "I moved to Tuesday's meeting.",
        "I work for free.",
        "I work at night.",
        "I work as a team player.",
        "Trabajo en equipo.",
        "Trabajo de noche.",
        "Trabajo como un burro.",
        "Trabajo para vivir.",
        "I have a dog in this fight.",
        "I have two children nodes in the tree.",
        "My dog is called every time I whistle.",
        "Hablo rápido.",
        "Hablo en serio.",
        "Responde en breve.",
        "Always answer in short.",
        "Estudio la propuesta.",
        "I study the document now.",
        "I prefer to wait.",
        "Me gusta la segunda opción.",
        "I am allergic to Mondays.",
        "I usually die every night in this game.",
        "Suelo decir que vivo en Roma.",
        "Vengo de Madrid ahora mismo, estoy cansado",
        "I was born in 1990.",
        "I work for peanuts",
        "Trabajo en pijama",
        "Tengo 3 hijos que se llaman Ana, Luis y Eva",
    ],
)
def test_what_is_asked_denied_supposed_quoted_or_vague_is_none(text: str) -> None:
    assert contents(text) == []


def test_a_pasted_text_is_not_what_somebody_says_of_themselves() -> None:
    assert contents("I live in Rome. " * 100) == []


def test_only_people_tell_of_themselves() -> None:
    assert extract_stated_facts([said("I live in Lisbon", role="assistant")]) == []


def test_a_fact_has_the_name_of_who_said_it() -> None:
    assert contents("I live in Lisbon", speaker="Ana") == ["Ana lives in Lisbon"]
    assert contents("My name is Ana", speaker="Ana") == []


def test_of_two_that_exclude_each_other_the_later_counts() -> None:
    facts = extract_stated_facts(
        [said("I live in Rome. I like tea."), said("I moved to Lisbon"), said("I hate tea")]
    )

    assert [fact.content for fact in facts] == ["The user lives in Lisbon", "The user dislikes tea"]


def test_two_people_may_live_in_two_places() -> None:
    facts = extract_stated_facts(
        [said("I live in Rome", speaker="Ana"), said("I live in Oslo", speaker="Bo")]
    )

    assert [fact.content for fact in facts] == ["Ana lives in Rome", "Bo lives in Oslo"]


async def test_a_draft_says_where_it_is_from() -> None:
    (draft,) = (await learned(said("I prefer tea over coffee", speaker="Ana"))).drafts

    assert draft.content == "Ana prefers tea over coffee."
    assert draft.category is Category.PREFERENCE
    assert draft.effective_type is MemoryType.PROFILE
    assert draft.origin is Origin.EXTRACTED
    assert draft.sources == (EPISODE.id,)
    assert (draft.subject, draft.session, draft.valid_at) == ("ana@localhost", "c", AT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Madrid.", "I moved to Lisbon"),
        ("User lives in Madrid", "I moved to Lisbon"),
        ("Ana lives in Madrid.", "I moved to Lisbon"),
        ("El usuario vive en Madrid.", "I moved to Lisbon"),
        ("I live in Madrid", "I moved to Lisbon"),
        ("Vivo en Madrid", "me he mudado a Lisboa"),
        ("Ana likes coffee.", "I hate coffee"),
        ("Ana prefers coffee over tea.", "I prefer tea over coffee"),
        ("Ana's favourite color is red.", "My favourite color is blue"),
        ("Ana is 33 years old.", "I am 34 years old"),
        ("User is a vegetarian", "I'm vegan."),
        ("Ana es vegetariana.", "Soy vegana."),
        ("The user is married.", "I'm divorced."),
        ("User is single", "I'm engaged"),
        ("Ana is separated.", "I'm widowed."),
        ("El usuario está soltero.", "Estoy casado."),
        ("El usuario está casado.", "Estoy separado."),
    ],
)
async def test_a_new_fact_closes_the_old_one(old: str, new: str) -> None:
    known = entry(old)

    result = await learned(said(new, speaker="Ana"), known=Known(known))

    assert list(result.invalid) == [known.id]
    assert len(result.drafts) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Lisbon, Portugal.", "I live in Lisbon"),
        ("Bo lives in Madrid.", "I moved to Lisbon"),
        ("Ana's sister lives in Madrid.", "I moved to Lisbon"),
        ("Ana likes tea.", "I hate coffee"),
        ("Ana's favourite food is rice.", "My favourite color is blue"),
        ("Ana lives for music", "I moved to Lisbon"),
        ("User is allergic to peanuts", "I'm vegan."),
        ("The user is a nurse.", "I'm vegan."),
        ("User is recovering from surgery.", "I'm vegan."),
        ("User is married", "I'm vegan."),
        ("The user is vegan.", "I'm married."),
        ("User is vegan", "I'm diabetic."),
        ("User is diabetic", "I'm vegan."),
        ("El usuario es alérgico al marisco.", "Soy vegano."),
        ("Ana es ingeniera.", "Soy vegana."),
        ("El usuario está enfermo.", "Estoy casado."),
        ("User was born in 1990.", "I was born in Madrid"),
        ("User lives in a flat with two cats.", "I moved to Lisbon"),
        ("I live in Lisbon", "I moved to Lisbon"),
        ("I live in Madrid and I work at Acme", "I moved to Lisbon"),
        ("User works at night.", "I work at Acme"),
        ("El usuario trabaja de noche.", "Trabajo como enfermero"),
    ],
)
async def test_what_may_both_be_true_stays(old: str, new: str) -> None:
    result = await learned(said(new, speaker="Ana"), known=Known(entry(old)))

    assert result.invalid == {}
    assert len(result.drafts) == 1


async def test_what_an_old_conversation_says_does_not_close_what_was_learned_later() -> None:
    later = entry("Ana lives in Oslo.", at=AT + timedelta(days=1))

    result = await learned(said("I live in Lisbon", speaker="Ana"), known=Known(later))

    assert result == ExtractedFacts()


async def test_the_user_is_nobody_in_particular_where_several_people_talk() -> None:
    known = Known(entry("The user lives in Madrid."))
    messages = (said("I live in Lisbon", speaker="Ana"), said("Hello", speaker="Bo"))

    assert (await learned(*messages, known=known)).invalid == {}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_is_read_without_harm(text: str) -> None:
    for fact in extract_stated_facts(
        [said(text), said(f"I live in {text}"), said(f"Me gusta {text}")]
    ):
        assert fact.content
        assert "\n" not in fact.content
    parse_exclusive_fact(text, ["Ana"])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
async def test_every_draft_can_be_kept(text: str) -> None:
    result = await learned(said(f"I like {text}"), said(f"I work at {text}", speaker=text))

    for draft in result.drafts:
        check_draft(draft)
