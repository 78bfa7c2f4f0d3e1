"""What a text is found by."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.search.postings import read_heads
from spade_llm.search.terms import (
    QUESTION_FLAG,
    QUESTION_SHARE_SHIFT,
    REST_BITS,
    TERM_ITEM,
    TIME_FLAG,
    content_hash,
    encode_terms,
    is_when_question,
    prefix_hash,
    query_words,
)


def items_of(terms: bytes) -> dict[int, int]:
    return dict(TERM_ITEM.iter_unpack(terms[TERM_ITEM.size :]))


def flags_of(content: str) -> int:
    flags, _ = read_heads([encode_terms(content)])
    return int(flags[0])


def asked(thirds: int) -> int:
    """Flags of a text of which so many thirds are questions."""
    return QUESTION_FLAG | thirds << QUESTION_SHARE_SHIFT


def matches(query: str, content: str) -> bool:
    terms = items_of(encode_terms(content))
    return all(any(term in terms for term in word.terms) for word in query_words(query))


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("camped", "We went camping"),
        ("CAMPING", "a camp"),
        ("resume", "My résumé"),
        ("canciones", "Me gusta esta canción"),
        ("cancion", "Me gusta esta canción"),
        ("Anna's dog", "Anna has a dog"),
        ("7 May 2023", "It was on 7 May, 2023."),
        ("東京", "私は東京に住んでいます"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
        ("über", "U\u0308BER alles"),
    ],
)
def test_a_word_is_found_in_its_other_forms(query: str, content: str) -> None:
    assert query_words(query)
    assert matches(query, content)


def test_a_word_is_not_found_in_another() -> None:
    assert not matches("horse", "A house")


def test_small_words_are_not_asked_for() -> None:
    assert query_words("what is it that you don't have, y el de la") == []


def test_surrounding_terms_count_half() -> None:
    term = query_words("bread")[0].terms[0]

    content, context, tag = (
        items_of(encode_terms("bread"))[term],
        items_of(encode_terms("the x", "bread"))[term],
        items_of(encode_terms("the x", None, ["bread"]))[term],
    )

    assert (content, context, tag) == (2, 1, 1)


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ("How are you?", asked(3)),
        ("I have a dog and a cat. Do you have pets?", asked(1)),
        ("Dogs bark. Do cats bark?", asked(2)),
        ("Who bakes bread? [a photo of rye bread]", asked(2)),
        ("“Is it late?” No, it is early", asked(2)),
        ("你好吗？我很好。", asked(2)),
        ("It costs 3.5 at https://example.org/?page=2", 0),
        ("¿Qué tal?", asked(3)),
        ("I went there last week", TIME_FLAG),
        ("Fui ayer", TIME_FLAG),
        ("Yesterday, why?", asked(3) | TIME_FLAG),
    ],
)
def test_questions_and_times_are_marked(content: str, flags: int) -> None:
    assert flags_of(content) == flags


@pytest.mark.parametrize(
    "text", ["When did it rain?", "¿Cuándo fue?", "What year was it?", "How long"]
)
def test_a_question_for_a_time_is_known(text: str) -> None:
    assert is_when_question(text)


def test_words_of_one_beginning_lie_together() -> None:
    terms = [query_words(word)[0].terms[0] for word in ("photographer", "photons")]

    assert {term >> REST_BITS for term in terms} == {prefix_hash("phot")}


def test_terms_are_the_same_in_every_process() -> None:
    code = "from spade_llm.search.terms import encode_terms as e; print(e('A brown dog').hex())"

    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert other.stdout.strip() == encode_terms("A brown dog").hex()


@given(st.text(), st.text(), st.lists(st.text()))
def test_any_text_can_be_encoded(content: str, context: str, tags: list[str]) -> None:
    terms = encode_terms(content, context, tags)

    assert len(terms) % TERM_ITEM.size == 0
    assert all(weight > 0 for weight in items_of(terms).values())
    assert content_hash(content) >> 63 == 0


@given(st.text(min_size=1))
def test_a_text_has_every_word_that_is_asked_for_in_it(text: str) -> None:
    terms = items_of(encode_terms(text))

    assert all(any(term in terms for term in word.terms) for word in query_words(text))


def test_spaces_do_not_make_another_content() -> None:
    assert content_hash(" a  b\n") == content_hash("a b") != content_hash("ab")
