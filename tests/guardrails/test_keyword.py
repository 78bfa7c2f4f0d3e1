"""Keywords: found behind the tricks of spelling, replaced whole, and never sent in parts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spade_llm.core.errors import ConfigurationError
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail
from spade_llm.guardrails.keyword import normalize, normalize_text
from tests.guardrails.streamed_parts import UNHURRIED, fed, pieces_of

TRICKS = {
    "as it is": "how to hack it",
    "in capitals": "how to HACK it",
    "inside a word": "how to unhackable it",
    "full width": "how to ｈａｃｋ it",
    "mathematical": "how to 𝐡𝐚𝐜𝐤 it",
    "in circles": "how to ⓗⓐⓒⓚ it",
    "with a zero-width space": "how to ha\u200bck it",
    "with a soft hyphen": "how to ha\u00adck it",
    "with a joiner": "how to h\u2060a\ufeffck it",
    "with tags": "how to ha\U000e0061ck it",
    "with a bell": "how to ha\x07ck it",
    "with accents": "how to hâck it",
    "with combining accents": "how to ha\u0301ck it",
    "struck through": "how to h\u0336a\u0336c\u0336k\u0336 it",
    "turned round for the eye": "how to \u202dhack\u202c it",
    "in Hangul fillers": "how to ha\u3164ck it",
}
LETTERS = st.text("aA\t\x07\x1c\x7fbßſsS\u0301\u200b \n[ﬁfi가ᄀ\u1161", max_size=30)
KEYWORDS = st.lists(st.text("abßsf i가", min_size=1, max_size=4), min_size=1, max_size=4).filter(
    lambda words: all(normalize_text(word) for word in words)
)


@pytest.mark.parametrize("text", TRICKS.values(), ids=TRICKS.keys())
async def test_a_keyword_is_found_behind_tricks(text: str) -> None:
    guardrail = KeywordGuardrail("k", ["hack"])

    assert (await guardrail(text, {})).action is GuardrailAction.BLOCK


@pytest.mark.parametrize("text", ["KILL", "kıll", "KİLL", "kill"])
async def test_an_i_is_an_i_with_or_without_its_dot(text: str) -> None:
    assert (await KeywordGuardrail("k", ["kill"])(text, {})).action is GuardrailAction.BLOCK


async def test_a_keyword_with_spaces_is_found_across_lines() -> None:
    guardrail = KeywordGuardrail("k", ["credit card"])

    assert (await guardrail("my credit\u00a0\n \u200b card", {})).action is GuardrailAction.BLOCK


async def test_a_text_without_keywords_passes_as_it_is() -> None:
    text = "Grüße, ｆｕｌｌ width\u200b and  spaces"

    result = await KeywordGuardrail("k", ["hack"])(text, {})

    assert (result.action, result.content) == (GuardrailAction.PASS, text)


async def test_every_keyword_is_replaced_and_nothing_else() -> None:
    guardrail = KeywordGuardrail("k", ["damn", "hell"], GuardrailAction.MODIFY, "[X]")

    result = await guardrail("Damn\u0301 the ｈｅｌｌ of  Grüße, damn", {})

    assert result.content == "[X] the [X] of  Grüße, [X]"


async def test_a_replacement_may_itself_contain_a_keyword() -> None:
    guardrail = KeywordGuardrail("k", ["Ted"], GuardrailAction.MODIFY)

    assert (await guardrail("Ted and Ada", {})).content == "[REDACTED] and Ada"


async def test_a_replacement_that_makes_keywords_is_repeated_until_none_is_left() -> None:
    guardrail = KeywordGuardrail("k", ["ab"], GuardrailAction.MODIFY, "")

    assert (await guardrail("xaabbaabby", {})).content == "xy"


async def test_case_counts_where_it_is_to_count() -> None:
    guardrail = KeywordGuardrail("k", ["Ada"], case_sensitive=True)

    assert (await guardrail("ada", {})).action is GuardrailAction.PASS
    assert (await guardrail("Ａda", {})).action is GuardrailAction.BLOCK


async def test_a_warning_goes_on_as_it_was() -> None:
    guardrail = KeywordGuardrail("k", ["bank"], GuardrailAction.WARNING)

    assert (await guardrail("my bank", {})).action is GuardrailAction.WARNING


async def test_a_long_text_is_searched_too() -> None:
    guardrail = KeywordGuardrail("k", ["secret"], GuardrailAction.MODIFY)

    result = await guardrail("ä" * 20_000 + "ＳＥＣＲＥＴ", {})

    assert result.content == "ä" * 20_000 + "[REDACTED]"


@pytest.mark.parametrize(
    ("keywords", "action", "replacement"),
    [
        ([], GuardrailAction.BLOCK, ""),
        (["\u200b"], GuardrailAction.BLOCK, ""),
        (["word"], GuardrailAction.PASS, ""),
        (["word", "dim"], GuardrailAction.MODIFY, "a WORD"),
        ("word", GuardrailAction.BLOCK, ""),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    keywords: list[str], action: GuardrailAction, replacement: str
) -> None:
    with pytest.raises(ConfigurationError, match="guardrail 'k': "):
        KeywordGuardrail("k", keywords, action, replacement)


@UNHURRIED
@given(LETTERS)
@example("ß\u0345")
def test_normalization_is_traceable_and_equal_in_pieces(text: str) -> None:
    whole = normalize(text)

    assert len(whole.text) == len(whole.starts) == len(whole.ends)
    assert whole.text == normalize_text(text)
    assert all(start < end for start, end in zip(whole.starts, whole.ends, strict=True))
    cut = normalize(text, is_complete=False).original_length
    assert normalize(text[:cut]).text + normalize(text[cut:]).text == whole.text


@UNHURRIED
@given(LETTERS, KEYWORDS, st.sampled_from(["[X]", "", "*", "b", "a b", " "]))
async def test_after_replacing_no_keyword_is_left(
    text: str, keywords: list[str], replacement: str
) -> None:
    try:
        guardrail = KeywordGuardrail("k", keywords, GuardrailAction.MODIFY, replacement)
    except ConfigurationError:
        return
    result = await guardrail(text, {})

    is_in_replacement = any(
        normalize_text(word) in normalize_text(replacement) for word in keywords
    )
    if result.action is not GuardrailAction.BLOCK and not is_in_replacement:
        left = normalize_text(result.content or "")
        assert not any(normalize_text(word) in left for word in keywords)


@UNHURRIED
@given(LETTERS, KEYWORDS, st.sampled_from(["[X]", "*", "b", "a", " "]), st.data())
async def test_parts_are_the_beginning_of_what_replacing_makes_of_the_whole(
    text: str, keywords: list[str], replacement: str, data: st.DataObject
) -> None:
    try:
        guardrail = KeywordGuardrail("k", keywords, GuardrailAction.MODIFY, replacement)
    except ConfigurationError:
        return
    whole = (await guardrail(text, {})).content or ""
    parts = guardrail.part_guard()

    if parts is not None:
        assert whole.startswith(fed(parts, pieces_of(text, data)))


@UNHURRIED
@given(LETTERS, KEYWORDS, st.data())
async def test_parts_before_a_keyword_that_blocks_never_hold_it(
    text: str, keywords: list[str], data: st.DataObject
) -> None:
    guardrail = KeywordGuardrail("k", keywords, early_parts=True)
    parts = guardrail.part_guard()
    assert parts is not None

    sent = fed(parts, pieces_of(text, data))

    assert text.startswith(sent)
    assert not any(normalize_text(word) in normalize_text(sent) for word in keywords)


def test_nothing_of_a_text_that_may_be_blocked_goes_out_in_parts() -> None:
    assert KeywordGuardrail("k", ["secret"]).part_guard() is None


def test_only_what_may_become_a_keyword_is_held_back() -> None:
    guardrail = KeywordGuardrail("k", ["secret", "sesame"], GuardrailAction.MODIFY)
    parts = guardrail.part_guard()
    assert parts is not None

    assert [parts.feed(piece) for piece in ("Hello ", "world, s", "ec", "ond", " secre", "t!")] == [
        "Hello",
        " world, ",
        "",
        "secon",
        "d ",
        "[REDACTED]",
    ]


def test_a_flood_of_invisible_characters_ends_the_parts() -> None:
    parts = KeywordGuardrail("k", ["secret"], GuardrailAction.MODIFY).part_guard()
    assert parts is not None

    assert parts.feed("s" + "\u200b" * 30_000) == ""
    assert parts.feed("o what?") == ""
