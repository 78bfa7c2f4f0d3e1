"""What one owner's index finds, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from spade_llm.search.memory_index import OwnerIndex
from spade_llm.search.memory_query import (
    Category,
    ContentType,
    GrantScope,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    SearchMode,
    SortBy,
    Tier,
)
from spade_llm.search.terms import QUESTION_FLAG
from spade_llm.search.vectors import pack_vectors
from tests.search.memory_rows import NOW, Row, columns

DAY_S = 86_400.0


def index_of(*rows: Row) -> OwnerIndex:
    index = OwnerIndex()
    index.put(columns(*rows))
    return index


def found(
    index: OwnerIndex,
    text: str,
    mode: SearchMode = SearchMode.KEYWORD,
    vector: np.ndarray | None = None,
    scopes: tuple[GrantScope, ...] | None = None,
    **query: object,
) -> list[int]:
    asked = MemoryQuery(text=text, mode=mode, **query)  # type: ignore[arg-type]
    return [hit.key for hit in index.search(asked, vector, now=NOW, scopes=scopes)]


def axis(number: int, dimensions: int = 64) -> np.ndarray:
    vector = np.full(dimensions, 0.001, np.float32)
    vector[number] = 1.0
    return vector / np.float32(np.linalg.norm(vector))


def at(day: int) -> datetime:
    return datetime(2023, 5, day, tzinfo=UTC)


def test_words_find_what_says_them() -> None:
    index = index_of(Row(key=2, content="Rye bread"), Row(key=4, content="A red house"))

    assert found(index, "houses") == [4]


def test_the_rarer_word_weighs_more() -> None:
    common = [Row(key=2 * n, content=f"bread number {n}") for n in range(1, 8)]
    index = index_of(*common, Row(key=20, content="an olive tree"))

    assert found(index, "olive bread")[0] == 20


def test_a_beginning_finds_words_when_no_word_is_there() -> None:
    index = index_of(Row(key=2, content="My photographs"), Row(key=4, content="A phone"))

    assert found(index, "photo") == [2]


def test_syntax_in_a_query_is_only_text() -> None:
    index = index_of(Row(key=2, content="bread"), Row(key=4, content="NEAR the sea"))

    assert found(index, '"bread" OR * NOT - near(') == [2, 4]


def test_equal_scores_go_by_age_and_then_by_key() -> None:
    index = index_of(
        Row(key=6, content="bread a1"),
        Row(key=2, content="bread a2", created_at=NOW - 5),
        Row(key=4, content="bread a3"),
    )

    assert found(index, "bread") == [2, 4, 6]


def test_each_entry_is_given_also_if_another_says_the_same() -> None:
    index = index_of(*(Row(key=2 * n, content="rye  bread") for n in range(1, 50)))

    assert len(found(index, "bread", limit=100)) == 49
    assert len(found(index, "bread", SearchMode.RECALL)) == 1


def test_the_same_message_is_given_once() -> None:
    index = index_of(*(Row(key=2 * n + 1, content="rye bread", session="c") for n in range(50)))

    assert len(found(index, "bread", with_messages=True)) == 1


def test_an_entry_takes_the_place_of_a_message_with_the_same_content() -> None:
    index = index_of(
        Row(key=2, content="rye bread"),
        Row(key=3, content="rye bread", session="c"),
        Row(key=5, content="what bread?", session="c", created_at=NOW + 1),
    )
    # The message ranks higher than the entry: its neighbour has the word, too.
    index.set_packed([2, 3, 5], pack_vectors(np.stack([axis(2), axis(1), axis(1)])))

    assert found(index, "bread", SearchMode.RECALL, axis(1), with_messages=True)[0] == 2


def test_messages_are_found_only_when_they_are_asked_for() -> None:
    index = index_of(Row(key=2), Row(key=3, content="bread, I said", session="c"))

    assert found(index, "bread") == [2]
    assert sorted(found(index, "bread", with_messages=True)) == [2, 3]


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.HYBRID, SearchMode.RECALL])
def test_vectors_find_what_has_no_word_in_common(mode: SearchMode) -> None:
    index = index_of(Row(key=2, content="a loaf"), Row(key=4, content="a house"))
    index.set_packed([2, 4], pack_vectors(np.stack([axis(1), axis(2)])))

    assert found(index, "bread", mode, axis(1))[0] == 2


def test_the_keyword_weight_really_weighs() -> None:
    index = index_of(Row(key=2, content="a loaf"), Row(key=4, content="bread"))
    index.set_packed([2, 4], pack_vectors(np.stack([axis(1), axis(2)])))

    assert found(index, "bread", SearchMode.HYBRID, axis(1), keyword_weight=0.0)[0] == 2
    assert found(index, "bread", SearchMode.HYBRID, axis(1), keyword_weight=1.0) == [4]


@pytest.mark.parametrize("mode", [SearchMode.SEMANTIC, SearchMode.HYBRID])
def test_rows_without_vectors_are_found_by_words(mode: SearchMode) -> None:
    assert found(index_of(Row(key=2)), "bread", mode) == [2]

    index = index_of(Row(key=2), Row(key=4), Row(key=6, content="a house"))
    index.set_packed([4], pack_vectors(np.stack([axis(1)])))

    assert found(index, "bread", mode, axis(1)) == [4, 2]


@pytest.mark.parametrize(
    ("right", "which"),
    [
        (Row(key=2, subject="a@x"), MemoryFilter(subject="a@x")),
        (Row(key=2, session="s"), MemoryFilter(session="s")),
        (Row(key=2, type="profile"), MemoryFilter(types=(MemoryType.PROFILE,))),
        (Row(key=2, category="fact"), MemoryFilter(category=Category.FACT)),
        (Row(key=2, tier="working"), MemoryFilter(tier=Tier.WORKING)),
        (Row(key=2, content_type="code"), MemoryFilter(content_type=ContentType.CODE)),
        (Row(key=2, tags=("a", "b")), MemoryFilter(tags=("b", "a"))),
        (Row(key=2, created_at=at(2).timestamp()), MemoryFilter(created_before=at(3))),
        (Row(key=2, created_at=NOW), MemoryFilter(created_after=datetime.fromtimestamp(NOW, UTC))),
    ],
)
def test_a_filter_applies_before_the_cut(right: Row, which: MemoryFilter) -> None:
    others = [Row(key=2 * n, content=f"bread {n}") for n in range(2, 60)]
    index = index_of(right, *others)

    assert found(index, "bread", which=which, limit=1) == [2]


def test_an_unknown_value_of_a_filter_finds_nothing() -> None:
    assert found(index_of(Row(key=2)), "bread", which=MemoryFilter(subject="x")) == []
    assert found(index_of(Row(key=2)), "bread", which=MemoryFilter(tags=("x",))) == []


def test_expired_entries_are_not_found() -> None:
    index = index_of(Row(key=2, expires_at=NOW), Row(key=4, content="bread!", expires_at=NOW + 1))

    assert found(index, "bread") == [4]


def test_superseded_entries_are_found_as_of_their_time() -> None:
    index = index_of(
        Row(
            key=2, content="bread is 1", created_at=at(1).timestamp(), invalid_at=at(5).timestamp()
        ),
        Row(key=4, content="bread is 2", created_at=at(5).timestamp()),
    )

    assert found(index, "bread") == [4]
    assert found(index, "bread", which=MemoryFilter(as_of=at(3))) == [2]


def test_a_clock_that_was_set_back_hides_nothing() -> None:
    assert found(index_of(Row(key=2, created_at=NOW + DAY_S)), "bread") == [2]


def test_a_grant_shows_what_it_is_for_and_says_so() -> None:
    index = index_of(
        Row(key=2, content="bread 1", tags=("t",)),
        Row(key=4, content="bread 2", session="s"),
        Row(key=6, content="bread 3"),
    )
    scopes = (GrantScope(grant="one", tag="t"), GrantScope(grant="two", session="s"))
    query = MemoryQuery(text="bread", mode=SearchMode.KEYWORD, explain=True)

    hits = index.search(query, None, now=NOW, scopes=scopes)

    assert {hit.key: hit.why.grant for hit in hits if hit.why} == {2: "one", 4: "two"}
    assert len(found(index, "bread", scopes=(GrantScope(grant="all"),))) == 3
    assert found(index, "bread", scopes=()) == []


def test_entries_without_a_grant_change_no_score() -> None:
    seen = Row(key=2, content="rye bread", tags=("t",))
    hidden = [Row(key=2 * n, content="bread and sea", speaker="Ann") for n in range(2, 30)]
    query, scopes = MemoryQuery(text="Ann's bread by the sea"), (GrantScope(grant="g", tag="t"),)

    alone = index_of(seen).search(query, None, now=NOW, scopes=scopes)
    among = index_of(seen, *hidden).search(query, None, now=NOW, scopes=scopes)

    assert alone == among


def test_importance_and_age_weigh_as_much_as_is_asked_for() -> None:
    index = index_of(
        Row(key=2, content="bread bread a", importance=0.1, created_at=NOW),
        Row(key=4, content="bread b", importance=1.0, created_at=NOW - 400 * DAY_S),
    )

    assert found(index, "bread")[0] == 2
    assert found(index, "bread", importance_weight=0.9)[0] == 4
    assert found(index, "bread", importance_weight=0.4, recency_weight=0.6)[0] == 2


def test_all_matches_are_sorted_unless_a_minimum_score_is_given() -> None:
    index = index_of(
        Row(key=2, content="bread bread bread", importance=0.1),
        Row(key=4, content="bread of a long time ago with cheese", importance=0.9),
        Row(key=6, content="a house", importance=1.0),
    )

    assert found(index, "bread", sort_by=SortBy.IMPORTANCE, limit=1) == [4]
    assert found(index, "bread", sort_by=SortBy.IMPORTANCE, limit=1, min_score=0.01) == [2]


def test_the_newest_come_first_if_asked_for() -> None:
    index = index_of(*(Row(key=2 * n, content=f"bread {n}", created_at=NOW - n) for n in (3, 1, 2)))

    assert found(index, "bread", sort_by=SortBy.CREATED_AT) == [2, 4, 6]


def talk(*said: tuple[str, str], start: float = NOW - DAY_S, session: str = "c") -> list[Row]:
    return [
        Row(key=2 * n + 1, speaker=who, content=text, session=session, created_at=start + 30 * n)
        for n, (who, text) in enumerate(said)
    ]


def test_an_answer_is_found_by_the_words_of_its_question() -> None:
    index = index_of(
        *talk(
            ("Ann", "Which instrument do you play?"),
            ("Bob", "The violin, for ten years now."),
            ("Ann", "Lovely weather today, isn't it?"),
        )
    )

    assert found(index, "instrument", SearchMode.RECALL, with_messages=True)[0] == 3


def test_what_is_told_beside_a_question_counts() -> None:
    told = "I bake bread in my old stone oven every week."
    question = "Do you bake any bread in an oven or stove?"
    index = index_of(
        Row(key=1, session="a", content=f"{told} {question}"),
        Row(key=3, session="b", content=question),
        Row(key=5, session="c", content=told),
    )

    assert found(index, "oven bread", SearchMode.RECALL, with_messages=True) == [1, 5, 3]


def test_a_question_of_an_earlier_version_still_ranks_below_a_statement() -> None:
    stored = columns(
        Row(key=1, session="a", content="Do you bake bread?", created_at=NOW - 1),
        Row(key=3, session="b", content="I do bake bread."),
    )
    encoded = bytearray(stored.terms[0])
    encoded[2] = QUESTION_FLAG
    index = OwnerIndex()
    index.put(replace(stored, terms=[bytes(encoded), stored.terms[1]]))

    assert found(index, "bread", SearchMode.RECALL, with_messages=True) == [3, 1]


def test_a_silence_of_half_an_hour_ends_the_neighbourhood() -> None:
    early, late = talk(("Ann", "Which instrument?")), talk(("Bob", "x"), ("Bob", "The violin."))
    index = index_of(*early, *late[1:])
    far = index_of(*early, Row(key=3, content="The violin.", session="c", created_at=NOW))

    assert 3 in found(index, "instrument", SearchMode.RECALL, with_messages=True)
    assert 3 not in found(far, "instrument", SearchMode.RECALL, with_messages=True)


def test_things_asked_for_are_looked_for_on_several_occasions() -> None:
    once = talk(("Ann", "I bake rye bread"), ("Bob", "Yes"), ("Ann", "And bake wheat bread"))
    again = Row(key=9, content="I bake bread", session="c", created_at=NOW)
    index = index_of(*once, again)

    def keys(text: str) -> list[int]:
        return found(index, text, SearchMode.RECALL, with_messages=True)

    assert keys("How is bread baked at home?")[:3] == [5, 1, 9]
    assert keys("Which bread is baked at home?")[:3] == [5, 9, 1]


def test_a_longer_list_begins_like_a_shorter_one() -> None:
    # Forty on one occasion, each a little further away, and then some on others.
    texts = [f"text {n}" for n in range(50)]
    rows = talk(*(("Ann", text) for text in texts[:40]))
    rows += [
        Row(key=2 * n + 1, content=texts[n], session=f"c{n}", created_at=NOW - DAY_S)
        for n in range(40, 50)
    ]
    index = index_of(*rows)
    vectors = np.stack([axis(1) + np.float32(0.002 * n) * axis(2) for n in range(50)])
    index.set_packed([row.key for row in rows], pack_vectors(vectors))

    def keys(limit: int) -> list[int]:
        asked = "Which bread?"
        return found(index, asked, SearchMode.RECALL, axis(1), limit=limit, with_messages=True)

    assert keys(10) == keys(50)[:10]


def test_entries_with_the_named_person_rank_first() -> None:
    index = index_of(*talk(("Ann", "I bake good bread"), ("Bob", "I bake fine bread")))

    for name, key in (("Ann", 1), ("bob", 3)):
        query = f"What does {name} bake?"
        assert found(index, query, SearchMode.RECALL, with_messages=True)[0] == key


def test_a_name_is_cut_from_what_is_embedded() -> None:
    index = index_of(*talk(("Ann Lee", "hello"), ("Will", "hi")))

    assert index.without_names("What will Ann's dog eat, Ann Lee?") == "What will dog eat, ?"
    assert index.without_names("Is Will here") == "Is here"
    assert index.without_names("Ann") == "Ann"


def test_a_search_can_say_why() -> None:
    index = index_of(*talk(("Ann", "We moved last week"), ("Bob", "Where to did you move?")))
    index.set_packed([1, 3], pack_vectors(np.stack([axis(1), axis(2)])))
    query = MemoryQuery(text="When did Ann move?", with_messages=True, explain=True)

    why = index.search(query, axis(1), now=NOW)[0].why

    assert why is not None
    assert (why.keyword_rank, why.vector_rank, why.age_s) == (1, 1, DAY_S)
    assert {"speaker", "when", "neighbourhood"} <= set(why.bonuses)


def test_a_day_that_is_named_is_where_to_look() -> None:
    rows = [
        Row(key=2 * n, content=f"bread {n}", created_at=at(n).timestamp()) for n in range(1, 29)
    ]

    assert found(index_of(*rows), "Who brought bread on 9 May 2023?", SearchMode.RECALL)[0] == 18


def test_reviews_only_break_ties() -> None:
    index = index_of(
        Row(key=2, content="bread one", created_at=NOW - 300 * DAY_S),
        Row(key=4, content="bread two", created_at=NOW - 301 * DAY_S, stability=900.0),
        Row(key=6, content="sea", created_at=NOW),
    )

    assert found(index, "bread", SearchMode.RECALL)[0] == 4


def test_similar_entries_are_near_and_not_the_entry_itself() -> None:
    index = index_of(*(Row(key=2 * n, content=f"x{n}") for n in (1, 2, 3)), Row(key=9, session="c"))
    index.set_packed([2, 4, 6, 9], pack_vectors(np.stack([axis(1), axis(1), axis(2), axis(1)])))

    assert [hit.key for hit in index.similar(2, now=NOW, min_score=0.5)] == [4]
    assert index.similar(100, now=NOW) == []


def test_similar_entries_are_found_by_words_without_vectors() -> None:
    index = index_of(
        Row(key=2, content="rye bread"),
        Row(key=4, content="good rye bread"),
        Row(key=6, content="x"),
    )

    assert [hit.key for hit in index.similar(2, now=NOW)] == [4]


def test_removed_entries_are_not_found_and_can_be_added_again() -> None:
    index = index_of(Row(key=2))

    index.remove([2, 4])
    assert found(index, "bread") == [] and len(index) == 0

    index.put(columns(Row(key=2)))
    assert found(index, "bread") == [2] and len(index) == 1


def test_a_change_of_content_forgets_the_vector_and_another_keeps_it() -> None:
    index = index_of(Row(key=2))
    index.set_packed([2], pack_vectors(axis(1)[None]))

    index.put(columns(Row(key=2, tags=("t",), importance=1.0)))
    assert found(index, "x", SearchMode.SEMANTIC, axis(1)) == [2]

    index.put(columns(Row(key=2, content="cheese")))
    assert found(index, "x", SearchMode.SEMANTIC, axis(1)) == []


def test_vectors_of_another_model_are_refused() -> None:
    index = index_of(Row(key=2), Row(key=4))
    index.set_packed([2], pack_vectors(axis(1)[None]))

    with pytest.raises(ValueError, match="32 dimensions among 64"):
        index.set_packed([4], pack_vectors(axis(1, 32)[None]))


def test_terms_of_another_version_are_refused() -> None:
    good = columns(Row(key=2))
    bad = type(good)(**{name: getattr(good, name) for name in good.__slots__} | {"terms": [b""]})

    with pytest.raises(ValueError, match="encode them anew"):
        OwnerIndex().put(bad)


def test_an_empty_index_finds_nothing() -> None:
    assert found(OwnerIndex(), "bread", SearchMode.RECALL, axis(1)) == []
    assert OwnerIndex().similar(2, now=NOW) == []
    OwnerIndex().put(columns())
