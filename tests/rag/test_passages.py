"""Chunks that follow each other become one passage: the document's own text, and in its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.rag import Chunk, Splitting, split
from spade_llm.rag.ranking import MAX_JOINED, FoundChunk, group_chunks, join_chunks, scored_passages

_TEXTS = st.lists(
    st.sampled_from(["word ", "A sentence. ", "\n\n", "# Title\n", "x" * 90, "é… "]),
    min_size=20,
    max_size=90,
).map("".join)
_RULES = st.tuples(st.integers(100, 200), st.integers(0, 99)).map(
    lambda pair: Splitting(size=pair[0], overlap=pair[1])
)


def chunks_of(text: str, rule: Splitting) -> list[Chunk]:
    return [
        Chunk(
            text=one.text,
            source="a",
            namespace="d",
            index=index,
            start=one.start,
            end=one.end,
            heading=one.heading,
        )
        for index, one in enumerate(split(text, rule))
    ]


@given(_TEXTS, _RULES, st.data())
def test_a_joined_passage_is_the_documents_text_but_for_white_space(
    text: str, rule: Splitting, data: st.DataObject
) -> None:
    chunks = chunks_of(text, rule)
    if not chunks:
        return
    first = data.draw(st.integers(0, len(chunks) - 1))
    last = data.draw(st.integers(first, len(chunks) - 1))

    passage = join_chunks(chunks[first : last + 1])

    original = text[passage.start : passage.end]
    assert len(passage.text) == len(original)
    assert all(
        a == b or (a.isspace() and b.isspace()) for a, b in zip(passage.text, original, strict=True)
    )
    assert (passage.index, passage.count) == (first, last - first + 1)
    assert (passage.start, passage.end) == (chunks[first].start, chunks[last].end)
    assert passage.heading == chunks[first].heading


@st.composite
def found_chunks(draw: st.DrawFn) -> list[FoundChunk]:
    places = draw(st.sets(st.tuples(st.integers(1, 3), st.integers(0, 12)), max_size=25))
    chosen = [
        FoundChunk(id=document * 100 + position, document=document, position=position, score=score)
        for document, position in sorted(places)
        for score in [draw(st.integers(1, 100)) / 100]
    ]
    return sorted(chosen, key=lambda one: (-one.score, one.document, one.position))


@given(found_chunks(), st.integers(1, 20))
def test_groups_are_chunks_in_a_row_and_no_two_of_them_touch_that_could_be_one(
    found: list[FoundChunk], k: int
) -> None:
    groups = group_chunks(found, k, merge=True)

    ids = [one.id for group in groups for one in group.members]
    assert len(groups) <= k
    assert len(ids) == len(set(ids))
    assert set(ids) <= {one.id for one in found}
    for group in groups:
        positions = [one.position for one in group.members]
        assert positions == list(range(positions[0], positions[0] + len(positions)))
        assert len(positions) <= MAX_JOINED
        assert len({one.document for one in group.members}) == 1
    bests = [group.best.score for group in groups]
    assert bests == sorted(bests, reverse=True)


@given(found_chunks(), st.integers(1, 20))
def test_the_best_chunks_are_answered_whether_joined_or_not(
    found: list[FoundChunk], k: int
) -> None:
    apart = {one.id for group in group_chunks(found, k, merge=False) for one in group.members}
    joined_ids = {one.id for group in group_chunks(found, k, merge=True) for one in group.members}

    assert apart == {one.id for one in found[:k]}
    assert apart <= joined_ids


@given(found_chunks(), st.integers(1, 2000))
def test_passages_stay_within_their_budget(found: list[FoundChunk], max_tokens: int) -> None:
    rule = Splitting(size=100, overlap=0)
    text = "Some words of text that fill a passage. " * 60
    chunks = chunks_of(text, rule)
    by_id = {one.id: chunks[one.position] for one in found}

    groups = group_chunks(found, 20, merge=True)
    answered = scored_passages(groups, by_id, max_tokens=max_tokens)
    whole = scored_passages(groups, by_id, max_tokens=None)

    assert sum(len(one.chunk.text) for one in answered) <= 4 * max_tokens
    assert len(whole) == len(groups)
    scores = [one.score for one in answered]
    assert scores == sorted(scores, reverse=True)


def test_a_passage_that_does_not_fit_may_be_its_best_chunk() -> None:
    chunks = chunks_of(
        "First words here. " * 5 + "\n\n" + "Then other words. " * 5, Splitting(size=100, overlap=0)
    )
    found = [
        FoundChunk(id=1, document=1, position=1, score=0.9),
        FoundChunk(id=0, document=1, position=0, score=0.8),
    ]
    groups = group_chunks(found, 5, merge=True)

    (answered,) = scored_passages(groups, dict(enumerate(chunks)), max_tokens=25)

    assert answered.chunk == chunks[1]
