"""Cutting a conversation: every message in one episode, in order, and never cut again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.episodes import (
    HARD_GAP,
    MAX_CHARS,
    MAX_MESSAGES,
    MAX_RANGE_MESSAGES,
    SOFT_GAP,
    cut_episodes,
    cut_points,
)
from spade_llm.memory.learning.learning_contract import MessageRange
from spade_llm.memory.validation import check_draft
from spade_llm.search.memory_query import MemoryType, Origin

START = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
LATER = START + timedelta(days=30)

COFFEE = "the espresso machine needs a new grinder before the beans arrive"
TRAIN = "our night train to Vienna leaves platform nine with sleeping cars"

WORDS = st.sampled_from(
    ["coffee", "beans", "train", "ticket", "Vienna", "garden", "roses", "tomato", "rain", "piano"]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)
MINUTES = st.one_of(st.integers(-5, 20), st.integers(25, 240))
TALKS = st.lists(st.tuples(TEXTS, MINUTES), max_size=120)


def message(number: int, text: str, at: datetime, *, speaker: str | None = None) -> ObservedMessage:
    role = "assistant" if number % 2 else "user"
    return ObservedMessage(id=str(number), role=role, content=text, at=at, speaker=speaker)


def talk(lines: list[tuple[str, int]]) -> list[ObservedMessage]:
    """Texts, each with the minutes since the one before."""
    at, messages = START, []
    for number, (text, minutes) in enumerate(lines):
        at += timedelta(minutes=minutes)
        messages.append(message(number, text, at))
    return messages


def message_range(messages: list[ObservedMessage]) -> MessageRange:
    return MessageRange(
        owner="a@localhost", conversation="c", subject="ana@localhost", messages=tuple(messages)
    )


@settings(deadline=None)
@given(TALKS)
def test_every_message_is_in_one_episode_in_order(lines: list[tuple[str, int]]) -> None:
    messages = talk(lines)

    points = cut_points(messages, now=LATER)

    assert [number for start, end in points for number in range(start, end)] == list(
        range(len(messages))
    )
    assert all(1 <= end - start <= MAX_MESSAGES for start, end in points)


@settings(deadline=None)
@given(TALKS, st.integers(0, 120))
def test_what_is_cut_early_is_cut_the_same_when_more_is_there(
    lines: list[tuple[str, int]], count: int
) -> None:
    messages = talk(lines)
    earlier = messages[:count]
    now = earlier[-1].at if earlier else START

    early = cut_points(earlier, now=now)

    assert early == cut_points(messages, now=LATER)[: len(early)]
    assert early == cut_points(earlier, now=now)


@settings(deadline=None)
@given(TALKS)
def test_what_is_left_after_an_episode_is_cut_as_it_was_with_it(
    lines: list[tuple[str, int]],
) -> None:
    messages = talk(lines)
    whole = cut_points(messages, now=LATER)

    rest, found, before = messages, [], 0
    while rest:
        start, end = cut_points(rest, now=LATER)[0]
        found.append((start + before, end + before))
        rest, before = rest[end:], before + end

    assert found == whole


@settings(deadline=None)
@given(TALKS)
def test_every_episode_is_a_draft_that_can_be_kept(lines: list[tuple[str, int]]) -> None:
    messages = talk(lines)

    episodes = cut_episodes(message_range(messages), now=LATER)

    for episode in episodes:
        check_draft(episode.draft)
        assert episode.draft.effective_type is MemoryType.EPISODIC
    assert not messages or episodes[-1].last_message == messages[-1].id


def test_three_hours_end_an_episode_and_half_an_hour_alone_does_not() -> None:
    hard = talk([(COFFEE, 0), (COFFEE, 1), (COFFEE, HARD_GAP // timedelta(minutes=1))])
    soft = talk([(COFFEE, 0), (COFFEE, 1), (COFFEE, 45), (COFFEE, 1)])

    assert cut_points(hard, now=LATER) == [(0, 2), (2, 3)]
    assert cut_points(soft, now=LATER) == [(0, 4)]


def test_half_an_hour_and_another_topic_end_an_episode() -> None:
    messages = talk([(COFFEE, 0), (COFFEE, 1), (TRAIN, 45), (TRAIN, 1)])

    assert cut_points(messages, now=LATER) == [(0, 2), (2, 4)]


def test_half_an_hour_ends_a_long_episode_whatever_it_is_about() -> None:
    messages = talk([(COFFEE, 0), *[(COFFEE, 1)] * 23, (COFFEE, 45), (COFFEE, 1)])

    assert cut_points(messages, now=LATER) == [(0, 24), (24, 26)]


def test_a_turn_of_the_talk_without_a_pause_ends_an_episode() -> None:
    coffee = [
        (f"{COFFEE} {extra}", 1) for extra in ["gram", "steam", "milk", "water", "cup", "pot"]
    ]
    train = [(f"{TRAIN} {extra}", 1) for extra in ["ticket", "bags", "border", "bed"]]

    assert cut_points(talk(coffee + train), now=LATER) == [(0, 6), (6, 10)]


def test_an_open_conversation_rests_before_it_is_cut() -> None:
    messages = talk([(COFFEE, 0), (COFFEE, 1)])
    last = messages[-1].at

    assert cut_points(messages, now=last + SOFT_GAP - timedelta(seconds=1)) == []
    assert cut_points(messages, now=last + SOFT_GAP) == [(0, 2)]


def test_a_conversation_that_never_rests_is_cut_when_it_is_long() -> None:
    messages = talk([(COFFEE, 1)] * (MAX_MESSAGES + 10))

    points = cut_points(messages, now=messages[-1].at)

    assert len(points) == 1
    assert MAX_MESSAGES // 2 <= points[0][1] <= MAX_MESSAGES


def test_a_full_stretch_may_go_on_whatever_its_dates_say() -> None:
    messages = talk([(COFFEE, 1)] * MAX_RANGE_MESSAGES)

    points = cut_points(messages, now=LATER)

    assert points
    assert points[-1][1] < MAX_RANGE_MESSAGES


def test_a_date_far_ahead_does_not_keep_an_episode_open() -> None:
    messages = [message(0, COFFEE, START + timedelta(days=4000))]

    assert cut_points(messages, now=START) == [(0, 1)]


def test_an_episode_of_huge_messages_is_bounded_but_holds_at_least_one() -> None:
    messages = talk([("word " * (MAX_CHARS // 4), 1)] * 3)

    assert cut_points(messages, now=LATER) == [(0, 1), (1, 2), (2, 3)]


def test_an_episode_is_dated_and_says_who_said_what() -> None:
    said = [
        message(0, "I moved to Lisbon.\nThe flat is near the river.", START, speaker="Ana"),
        message(1, "How nice!", START + timedelta(minutes=27)),
    ]

    (episode,) = cut_episodes(message_range(said), now=LATER)

    assert episode.draft.content == (
        "2026-03-01, 14:05–14:32: Ana: I moved to Lisbon. The flat is near the river."
    )
    assert (episode.first_message, episode.last_message) == ("0", "1")
    assert episode.draft.valid_at == START
    assert episode.draft.session == "c"
    assert episode.draft.subject == "ana@localhost"
    assert episode.draft.origin is Origin.EPISODE


def test_a_long_episode_keeps_names_numbers_and_dates_and_who_said_them() -> None:
    chatter = [
        message(n, f"{COFFEE} again and again, number of words {n}", START) for n in range(30)
    ]
    said = [
        *chatter,
        message(30, "The invoice 4711 goes to Okonkwo on 3 May.", START, speaker="Eva"),
    ]

    (episode,) = cut_episodes(message_range(said), now=LATER)

    assert len(episode.draft.content) < 1100
    assert "Eva: The invoice 4711 goes to Okonkwo on 3 May." in episode.draft.content


def test_what_an_assistant_said_is_not_part_of_an_episode() -> None:
    said = [
        message(0, "Where do I live?", START),
        message(1, "You live in Lisbon. The tram 28 passes there.", START),
        message(2, "I have a dog.", START, speaker="Eva"),
    ]

    (episode,) = cut_episodes(message_range(said), now=LATER)

    assert episode.draft.content == (
        "2026-03-01, 14:05: user: Where do I live?\nEva: I have a dog."
    )
    assert (episode.first_message, episode.last_message) == ("0", "2")


def test_an_episode_in_which_only_an_assistant_spoke_has_no_words() -> None:
    (episode,) = cut_episodes(message_range([message(1, "Good morning!", START)]), now=LATER)

    assert episode.draft.content == "2026-03-01, 14:05: assistant: …"


def test_an_episode_of_nothing_new_still_counts_as_an_episode() -> None:
    (episode,) = cut_episodes(message_range([message(0, "> quoted", START)]), now=LATER)

    assert episode.draft.content == "2026-03-01, 14:05: user: …"
