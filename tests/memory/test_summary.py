"""A summary keeps names, numbers and dates in any language, and is no longer than its sources."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spade_llm.memory.summary import extractive_summary
from spade_llm.search.language import split_sentences

LONG = 10_000
SPANS = ("minute", "week", "century")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met A. Jones.", ["Dr. Smith met A. Jones."]),
        ("Es war der 3. Mai. Dann kam Juni.", ["Es war der 3. Mai.", "Dann kam Juni."]),
        ("It costs 3.14 at example.org now.", ["It costs 3.14 at example.org now."]),
        (
            "My boss is called Mr. Smith. I like him.",
            ["My boss is called Mr. Smith.", "I like him."],
        ),
        ("Ask J. A. Smith, Ph.D. He knows.", ["Ask J. A. Smith, Ph.D.", "He knows."]),
        ("I live in the U.S. My dog, too.", ["I live in the U.S.", "My dog, too."]),
        ("The U.S. Army came on Jan. 5 or so.", ["The U.S. Army came on Jan. 5 or so."]),
        ("I get up at 7 a.m. every day.", ["I get up at 7 a.m. every day."]),
        ("It was 7 a.m. Nobody slept.", ["It was 7 a.m.", "Nobody slept."]),
        ("I work at Acme Inc. in Rome.", ["I work at Acme Inc. in Rome."]),
        ("Use a list, e.g. Python's.", ["Use a list, e.g. Python's."]),
        ("I am 34. My name is Ana.", ["I am 34.", "My name is Ana."]),
        ("It costs 3.14. Nobody pays.", ["It costs 3.14.", "Nobody pays."]),
        ("1. Buy milk\n2. My car", ["1. Buy milk", "2. My car"]),
        ("He is no. 5. So do I. Then no. Bye.", ["He is no. 5.", "So do I.", "Then no.", "Bye."]),
        ("I love art. It is in vol. 2.", ["I love art.", "It is in vol. 2."]),
        ("Vivo en EE. UU. desde mayo.", ["Vivo en EE. UU. desde mayo."]),
        ("El Sr. D. Juan llegó a las 8 p. m. ayer.", ["El Sr. D. Juan llegó a las 8 p. m. ayer."]),
        ("Trabajo en Acme S.A. Vivo en Lugo.", ["Trabajo en Acme S.A.", "Vivo en Lugo."]),
        ("Uso varios, p. ej. Python.", ["Uso varios, p. ej. Python."]),
        (
            "Está en la pág. 3, art. 5. La Dra. Gil lo vio.",
            ["Está en la pág. 3, art. 5.", "La Dra. Gil lo vio."],
        ),
        ("i like tea. i work here.", ["i like tea.", "i work here."]),
        ("今天天气很好。我们去公园！好吗？", ["今天天气很好。", "我们去公园！", "好吗？"]),
        ("「行く。」と言った。はい。", ["「行く。」", "と言った。", "はい。"]),
        ("मैं ठीक हूँ। आप कैसे हैं?", ["मैं ठीक हूँ।", "आप कैसे हैं?"]),
        ("هل أنت بخير؟ نعم.", ["هل أنت بخير؟", "نعم."]),
        ('She said "Go." Then she went.', ['She said "Go."', "Then she went."]),
        ("- one\n- two\n\nthree", ["- one", "- two", "three"]),
        (" \n ", []),
    ],
)
def test_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_short_sources_are_kept_whole_one_per_line() -> None:
    texts = ["Ada moved to Berlin in 2021. She likes it.", "Ada works at Acme."]

    assert extractive_summary(texts, LONG) == (
        "Ada moved to Berlin in 2021. She likes it\nAda works at Acme."
    )


@pytest.mark.parametrize(
    ("texts", "summary"),
    [
        (["The port is 5432", "Ada likes tea"], "port is 5432\nAda likes tea"),
        (["User prefers tea", "User works at Acme"], "User prefers tea\nworks at Acme"),
        (["No tea. Ada left", "Ada likes milk"], "No tea.Ada left\nAda likes milk"),
        (["La Paz is high", "Ada likes tea"], "La Paz high\nAda likes tea"),
        (["Ada was in Rome", "Bob left Oslo"], "Ada in Rome\nBob left Oslo"),
        (["tea!", "milk"], "tea!milk"),
        (["お茶", "牛乳"], "お茶牛乳"),
        (["alpha", "beta"], "alpha\nbe…"),
        (["5432", "9981"], "5432"),
        (["First memory", "Second memory"], "First memo…\nSecond memory"),
        (["Port 5432", "Port 9981 too"], "Port 5432\n9981 too"),
        (["on 5432", "by Ada"], "on 5432\nby…"),
        (["no tea", "Ada left"], "no…\nAda left"),
        (["Ada", "Ada "], "Ada"),
    ],
)
def test_line_ends_take_their_room_from_what_says_nothing(texts: list[str], summary: str) -> None:
    assert extractive_summary(texts, LONG) == summary


def test_what_repeats_is_said_once() -> None:
    texts = ["The port is 5432.", "the port is 5432", "The host is db1. The port  is 5432."]

    assert extractive_summary(texts, LONG) == "The port is 5432.\nThe host is db1."


def test_names_numbers_and_dates_are_kept_when_others_go() -> None:
    facts = [
        "The contract with Miriam Okafor ends on 2027-03-31.",
        "El presupuesto es de 12.500 euros.",
        "会議は10時30分からです。",
    ]
    talk = "It is really quite nice to talk about things like that for a {}, as we do."
    texts = [f"{talk.format(span)} {fact}" for span, fact in zip(SPANS, facts, strict=True)]

    summary = extractive_summary(texts, LONG, aim_chars=1)

    for kept in ("Miriam Okafor", "2027-03-31", "12.500", "10", "30"):
        assert kept in summary
    assert "nice" not in summary


def test_a_tight_bound_keeps_the_sentence_with_most_facts() -> None:
    texts = ["We talked about a lot of things there. Ada paid 4200 EUR to Bob on 3 May 2024."]

    assert extractive_summary(texts, 45) == "Ada paid 4200 EUR to Bob on 3 May 2024."


def test_a_name_that_only_begins_sentences_is_a_name() -> None:
    texts = ["Alice likes tea. It is good. It is very good. They say that it is good."]

    assert "Alice" in extractive_summary(texts, LONG, aim_chars=1)


def test_a_sentence_that_does_not_fit_is_cut_at_a_word() -> None:
    assert extractive_summary(["no full stop in this long text"], 16) == "no full stop in…"
    assert extractive_summary(["x" * 50], 10) == "x" * 9 + "…"
    assert extractive_summary(["今天天气很好我们去公园"], 5) == "今天天气…"


def test_sources_that_say_nothing_give_nothing() -> None:
    assert extractive_summary([], LONG) == ""
    assert extractive_summary([" \n"], LONG) == ""


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_chars"):
        extractive_summary(["x"], 0)


TEXTS = st.lists(st.text(alphabet=st.sampled_from("aB3 .\n!?。、日éア\u0301’-:"), max_size=60))


WORDS = st.lists(st.sampled_from(["Ada", "tea", "5432", "is", "not", "茶", "a.", "b?"]), min_size=2)
TWO = st.lists(WORDS.map(" ".join) | st.sampled_from(["alpha", "beta", "7"]), min_size=2)


@given(texts=TEXTS | st.lists(st.text()) | TWO, max_chars=st.integers(1, 300))
def test_a_summary_is_bounded_deterministic_and_never_empty(
    texts: list[str], max_chars: int
) -> None:
    summary = extractive_summary(texts, max_chars)

    assert len(summary) <= max_chars
    assert len(summary) <= sum(map(len, texts))
    assert bool(summary) == any(text.strip() for text in texts)
    assert summary == extractive_summary(texts, max_chars)


@example(texts=["3。B"])
@example(texts=["3", ":B"])
@given(texts=TEXTS)
def test_every_number_is_kept_where_there_is_room(texts: list[str]) -> None:
    summary = extractive_summary(texts, LONG, aim_chars=0)

    assert ("3" in "".join(texts)) == ("3" in summary)
