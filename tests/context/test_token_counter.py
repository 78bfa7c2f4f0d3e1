"""Counts of tokens: exact where a table is at hand, an estimate that says so otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.context import EstimatedTokens, TokenBudget, counter_for
from spade_llm.context.token_counter import MAX_CACHED_CHARS, CachedTokenCounter, encoding_of
from spade_llm.providers import find_weights
from tests.context.histories import call, system, talk, user

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "english": "The quick brown fox jumps over the lazy dog and goes home to sleep for a while. ",
    "spanish": "El zorro salta sobre el perro perezoso y después se va a casa a dormir un rato. ",
    "json": '{"id": 4471, "items": [{"price": 12.5, "name": "a b"}], "ok": true}',
    "code": "def count(self, text: str) -> int:\n    return len(self._encoding.encode(text))\n",
    "numbers": "2026-11-21 19:20:59 4471 88123 99.12 ",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_estimate_is_a_little_more_than_the_exact_count(text: str) -> None:
    exact = counter_for("gpt-5-mini").count(text * 20)

    assert exact <= EstimatedTokens().count(text * 20) <= 1.7 * exact


def test_openais_models_are_counted_by_their_tables() -> None:
    newer, older = counter_for("openai/gpt-4o-mini"), counter_for("gpt-3.5-turbo")

    assert (newer.name, newer.is_exact) == ("o200k_base", True)
    assert (older.name, older.is_exact) == ("cl100k_base", True)
    assert newer.count("hello world") == older.count("hello world") == 2


@pytest.mark.parametrize("model", ["llama3.1", "qwen3:8b", "offline", "gpt-oss:20b", "o3x", ""])
def test_others_are_estimated_and_it_says_so(model: str) -> None:
    counter = counter_for(model)

    assert (counter.name, counter.is_exact) == ("estimate", False)
    assert TokenBudget(100, model=model).get_stats(5)["tokens_are_exact"] is False


@pytest.mark.parametrize(
    ("model", "encoding"),
    [("o3", "o200k_base"), ("gpt-4.1-nano", "o200k_base"), ("gpt-4-32k", "cl100k_base")],
)
def test_the_table_of_a_model_is_known_by_its_name(model: str, encoding: str) -> None:
    assert encoding_of(model) == encoding


def test_any_models_tokenizer_counts_exactly(tmp_path: Path) -> None:
    weights = find_weights(tmp_path)
    assert weights is not None, "the development environment has them: see the Makefile"

    counter = counter_for("some-model", tokenizer=weights / "tokenizer.json")

    assert (counter.name, counter.is_exact) == ("tokenizer.json", True)
    assert counter.count("hello world") == 2
    assert counter.count("hello world " * 400) == 800


class Asked(EstimatedTokens):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return super().count(text)


def test_each_text_is_counted_once() -> None:
    counter = Asked()
    budget = TokenBudget(200, counter=counter)

    for _ in range(3):
        budget.apply_context_strategy(talk(500), "Be brief.")

    assert len(counter.texts) == len(set(counter.texts))
    assert len(counter.texts) < 60


@given(st.lists(st.text(), max_size=20))
def test_cached_counts_equal_new_ones(texts: list[str]) -> None:
    counter = CachedTokenCounter()

    assert [counter.text(one) for one in texts * 2] == [
        EstimatedTokens().count(one) for one in texts * 2
    ]


def test_counts_take_bounded_room() -> None:
    counter, size = CachedTokenCounter(), MAX_CACHED_CHARS // 8
    for n in range(40):
        counter.text(f"{n}" * size)

    kept = [*counter._new, *counter._old]

    assert sum(map(len, kept)) <= MAX_CACHED_CHARS + 4 * size


def test_calls_are_counted_with_their_arguments() -> None:
    long = call("1")
    long.get("tool_calls", [])[0]["function"]["arguments"] = '{"text": "' + "word " * 100 + '"}'

    assert CachedTokenCounter().message(long) > CachedTokenCounter().message(call("1")) + 100
    assert CachedTokenCounter().message(user("hi")) < CachedTokenCounter().message(
        system("hello there, you")
    )
