"""What holds for any rows and any query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.search import bm25, memory_search, postings, table
from spade_llm.search.memory_index import OwnerIndex
from spade_llm.search.memory_query import GrantScope, MemoryFilter, MemoryQuery, SearchMode, SortBy
from spade_llm.search.vectors import pack_vectors
from tests.conftest import at_most
from tests.search.memory_rows import NOW, Row, columns

DIMENSIONS = 64
WORDS = ("bread", "sea", "olive", "house", "maybe?", "yesterday", "Ann", "Bob", "2023", "NEAR(")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
names = st.sampled_from([None, "Ann", "Bob"])
tags = st.lists(st.sampled_from("abc"), unique=True, max_size=2).map(tuple)
moments = st.integers(-5000, 5000).map(lambda seconds: NOW + seconds)


@st.composite
def rows(draw: st.DrawFn, key: int) -> Row:
    return Row(
        key=key,
        content=draw(texts),
        session=draw(names),
        speaker=draw(names),
        subject=draw(names),
        tags=draw(tags),
        created_at=draw(moments),
        expires_at=draw(st.none() | moments),
        invalid_at=draw(st.none() | moments),
        importance=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )


many = st.lists(st.integers(1, 40), unique=True, max_size=25).flatmap(
    lambda keys: st.tuples(*(rows(key) for key in keys))
)
filters = st.builds(MemoryFilter, subject=names, session=names, tags=tags)
queries = st.builds(
    MemoryQuery,
    text=texts | st.text(max_size=20) | texts.map("Which breads {}?".format),
    mode=st.sampled_from(SearchMode),
    limit=st.integers(1, 30),
    which=filters,
    with_messages=st.booleans(),
    min_score=st.sampled_from([0.0, 0.2]),
    importance_weight=st.sampled_from([0.0, 0.5]),
    recency_weight=st.sampled_from([0.0, 0.7]),
    explain=st.booleans(),
)


def vector_of(text: str) -> np.ndarray:
    """Some direction, the same for the same text."""
    vector = np.random.default_rng(sum(text.encode())).normal(size=DIMENSIONS)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def put(index: OwnerIndex, some: tuple[Row, ...]) -> None:
    index.put(columns(*some))
    if some:
        vectors = np.stack([vector_of(row.content) for row in some])
        index.set_packed([row.key for row in some], pack_vectors(vectors))


def index_of(some: tuple[Row, ...]) -> OwnerIndex:
    index = OwnerIndex()
    put(index, some)
    return index


def is_meant(row: Row, query: MemoryQuery) -> bool:
    """The filter in plain words."""
    which = query.which
    return (
        (query.with_messages or row.key % 2 == 0)
        and which.subject in (None, row.subject)
        and which.session in (None, row.session)
        and set(which.tags) <= set(row.tags)
        and (row.expires_at is None or row.expires_at > NOW)
        and (row.invalid_at is None or row.invalid_at > NOW)
    )


@given(many, queries)
def test_hits_are_in_order_within_bounds_and_what_was_meant(
    some: tuple[Row, ...], query: MemoryQuery
) -> None:
    hits = index_of(some).search(query, vector_of(query.text), now=NOW)

    meant = {row.key for row in some if is_meant(row, query)}
    scores = [hit.score for hit in hits]
    assert {hit.key for hit in hits} <= meant
    assert len({hit.key for hit in hits}) == len(hits) <= query.limit
    assert all(max(query.min_score, 1e-9) <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(many, queries)
def test_every_memory_that_has_a_word_of_the_query_is_found(
    some: tuple[Row, ...], query: MemoryQuery
) -> None:
    asked = MemoryQuery(text="bread", mode=SearchMode.KEYWORD, limit=100, which=query.which)

    hits = index_of(some).search(asked, None, now=NOW)

    right = {row.content for row in some if is_meant(row, asked) and "bread" in row.content}
    content = {row.key: row.content for row in some}
    assert {" ".join(content[hit.key].split()) for hit in hits} == right


@given(many, texts, st.integers(1, 30))
def test_a_lower_limit_gives_the_first_of_the_same_hits(
    some: tuple[Row, ...], text: str, limit: int
) -> None:
    index = index_of(some)

    def hits(limit: int) -> list[int]:
        query = MemoryQuery(text=f"What {text}?", with_messages=True, limit=limit)
        return [hit.key for hit in index.search(query, vector_of(text), now=NOW)]

    assert hits(limit) == hits(60)[:limit]


@given(many, queries)
def test_words_score_the_same_however_neighbours_are_read(
    some: tuple[Row, ...], query: MemoryQuery
) -> None:
    index, vector = index_of(some), vector_of(query.text)

    all_at_once = index.search(query, vector, now=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "SMALL_ROWS", 0)
        patch.setattr(bm25, "DENSE_RATIO", 0)
        row_by_row = index.search(query, vector, now=NOW)

    assert row_by_row == all_at_once


@given(many, queries)
def test_the_same_query_gives_the_same_answer(some: tuple[Row, ...], query: MemoryQuery) -> None:
    index, vector = index_of(some), vector_of(query.text)

    first = index.search(query, vector, now=NOW)

    assert index.search(query, vector, now=NOW) == first
    assert index_of(some[::-1]).search(query, vector, now=NOW) == first


@given(many, many, queries)
def test_an_index_after_any_changes_equals_a_new_one(
    before: tuple[Row, ...], after: tuple[Row, ...], query: MemoryQuery
) -> None:
    index, vector = index_of(before), vector_of(query.text)
    index.search(query, vector, now=NOW)
    index.remove([row.key for row in before if row.key % 3 == 0])
    put(index, after)
    index.remove([row.key for row in before if row.key not in {row.key for row in after}])
    index.merge_job()()()

    found = index.search(query, vector, now=NOW)

    assert found == index_of(after).search(query, vector, now=NOW)
    assert len(index) == len(after)


@given(many, queries, st.sampled_from([("a",), ("b", "c")]))
def test_another_sees_as_if_only_what_is_granted_were_there(
    some: tuple[Row, ...], query: MemoryQuery, granted: tuple[str, ...]
) -> None:
    scopes = [GrantScope(grant=tag, tag=tag) for tag in granted]
    seen = tuple(row for row in some if set(row.tags) & set(granted) and row.key % 2 == 0)
    entries = tuple(row for row in some if row.key % 2 == 0)
    vector = vector_of(query.text)

    hits = index_of(entries).search(query, vector, now=NOW, scopes=scopes)

    assert hits == index_of(seen).search(query, vector, now=NOW, scopes=scopes)


@given(many, queries)
def test_sorted_by_importance_it_is_the_order_of_all_that_matches(
    some: tuple[Row, ...], query: MemoryQuery
) -> None:
    asked = MemoryQuery(text=query.text, limit=5, which=query.which, sort_by=SortBy.IMPORTANCE)

    hits = index_of(some).search(asked, vector_of(query.text), now=NOW)

    importance = {row.key: row.importance for row in some}
    found = [importance[hit.key] for hit in hits]
    assert found == sorted(found, reverse=True)


@settings(max_examples=at_most(20))
@given(many, many, queries)
def test_small_bounds_change_no_answer(
    before: tuple[Row, ...], after: tuple[Row, ...], query: MemoryQuery
) -> None:
    """What only happens in large indexes: sketches, sorted keys, postponed merges."""
    vector = vector_of(query.text)
    usual = index_of(before)
    put(usual, after)
    expected = usual.search(query, vector, now=NOW)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_search, "EXACT_ROWS", 0)
        patch.setattr(table, "MAX_RECENT", 2)
        patch.setattr(postings, "INLINE_ITEMS", 8)
        index = index_of(before)
        for row in after:
            put(index, (row,))
        found = index.search(query, vector, now=NOW)

    assert found == expected
