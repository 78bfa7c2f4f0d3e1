"""Where texts are cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag import Splitting, split
from spade_llm.rag.loading.chunking import HeadingMarkup, is_inside_grapheme

_PIECES = st.sampled_from(
    [
        "word ",
        "A sentence. ",
        "\n",
        "\n\n",
        "# Title\n",
        "## Part\n",
        "```\n",
        "  ",
        "x" * 150,
        "é…",
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=20), max_size=120).map("".join)
_RULES = st.tuples(st.integers(100, 400), st.integers(0, 399)).map(
    lambda pair: Splitting(size=pair[0], overlap=min(pair[1], pair[0] - 1))
)


@given(_TEXTS, _RULES, st.sampled_from(HeadingMarkup))
def test_offsets_are_exact_and_sizes_bounded(
    text: str, rule: Splitting, markup: HeadingMarkup
) -> None:
    for passage in split(text, rule, markup=markup):
        assert text[passage.start : passage.end] == passage.text
        assert 0 < len(passage.text) <= rule.size


@given(_TEXTS, _RULES, st.sampled_from(HeadingMarkup))
def test_every_character_that_is_not_space_is_in_a_passage(
    text: str, rule: Splitting, markup: HeadingMarkup
) -> None:
    covered = bytearray(len(text))
    for passage in split(text, rule, markup=markup):
        covered[passage.start : passage.end] = b"\1" * len(passage.text)

    assert all(covered[at] or char.isspace() for at, char in enumerate(text))


@given(_TEXTS, _RULES)
def test_passages_move_forward_and_repeat_no_more_than_the_overlap(
    text: str, rule: Splitting
) -> None:
    passages = list(split(text, rule))

    for one, following in zip(passages, passages[1:], strict=False):
        assert following.start > one.start
        assert following.end > one.end
        assert one.end - following.start <= rule.overlap


def test_a_passage_belongs_to_one_heading_path() -> None:
    text = "Before.\n# A\n## B\nIn b.\n### C ###\nIn c.\n## D\nIn d.\n# E\n"

    found = [(passage.heading, passage.text) for passage in split(text)]

    assert found == [
        ("", "Before."),
        ("A > B", "# A\n## B\nIn b."),
        ("A > B > C", "### C ###\nIn c."),
        ("A > D", "## D\nIn d."),
        ("E", "# E"),
    ]


def test_a_comment_in_fenced_code_is_no_heading() -> None:
    text = "# Run\n\n```sh\n# not a heading\nmake\n```\n\nDone."

    assert [passage.heading for passage in split(text)] == ["Run"]


def test_plain_text_has_no_headings() -> None:
    assert [p.heading for p in split("# a remark\nsome text", markup=HeadingMarkup.PLAIN)] == [""]


def test_a_cut_is_made_at_the_end_of_a_paragraph_if_there_is_one() -> None:
    text = "One. " * 16 + "\n\n" + "Two. " * 16

    first, *_ = split(text, Splitting(size=120, overlap=0))

    assert first.text == ("One. " * 16).strip()


def test_a_cut_is_made_at_the_end_of_a_sentence_before_that_of_a_word() -> None:
    text = "All quiet on the northern shore. " * 10

    for passage in split(text, Splitting(size=120, overlap=0)):
        assert passage.text.endswith("shore.")


def test_a_cut_is_not_made_behind_an_abbreviation() -> None:
    text = "word " * 10 + "ends here. We met Dr. " + "Smith " * 20

    first, *_ = split(text, Splitting(size=100, overlap=0))

    assert first.text.endswith("ends here.")


def test_an_overlap_begins_at_a_word() -> None:
    words = " ".join(f"word{n:03d}" for n in range(200))

    for passage in split(words, Splitting(size=200, overlap=50)):
        assert passage.text.startswith("word")


@pytest.mark.parametrize(
    ("size", "overlap"), [(99, 0), (4001, 0), (1000, -1), (1000, 1001), (200, 200), (200, 300)]
)
def test_sizes_out_of_bounds_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidArguments):
        Splitting(size=size, overlap=overlap)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit", ["x", "word ", " ", "\n", "#", "# a\n", "`", ". ", "\n \n", "```\n"]
)
def test_three_megabytes_of_anything_take_linear_time(unit: str) -> None:
    rule = Splitting(size=1000, overlap=999)

    def seconds(size: int) -> float:
        began = time.process_time()
        for _ in split(unit * (size // len(unit)), rule):
            pass
        return time.process_time() - began

    small = seconds(300_000)
    assert seconds(3_000_000) < 40 * small + 0.5


@pytest.mark.parametrize(
    "character", ["e\u0301", "👩\u200d🚀", "🇪🇸", "👍🏽", "\r\n", "❤\ufe0f", "क\u093f"]
)
def test_a_character_of_several_code_points_is_never_cut(character: str) -> None:
    for before in range(4):
        text = "x" * before + character * 300
        for passage in split(text, Splitting(size=100, overlap=31)):
            assert not is_inside_grapheme(text, passage.start)
            assert passage.text.endswith("\r") or not is_inside_grapheme(text, passage.end)
