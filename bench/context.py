"""Choosing what of a long conversation reaches the model, by each strategy: how long that takes,
and which facts of it the model still gets (bench/facts.py).

Nobody asks a model: that what was kept is used is not measured. Strategies that can have an
embedder or a model are measured without: by words.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from bench.facts import FACTS, conversation, held, plain_window, question
from bench.prompt_prefix import measure_prefix
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    EstimatedTokens,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.stage import Stage
    from spade_llm.context import ContextManagement, ContextMessage

SIZES = (100, 1000, 10_000)
PROMPT = "You are a helpful assistant in a chat."
GOAL = Goal(limit=1.0)
LIMIT = 4000
"""Tokens, of those strategies that have such a limit."""
STRATEGIES: dict[str, ContextManagement] = {
    "window": WindowSizeContext(40),
    "smart, tools first": SmartWindowSizeContext(40, 4, True),
    "token budget": TokenBudget(LIMIT),
    "semantic, by words": SemanticRetention(40),
    "compression, by words": Compression(1000),
    "adaptive window": AdaptiveWindow(),
    "budget + semantic + compression": CombinedContext(
        [TokenBudget(LIMIT), SemanticRetention(), Compression()]
    ),
    "adaptive": AdaptiveSmartContext(LIMIT),
}
LIMITED = frozenset({"token budget", "budget + semantic + compression", "adaptive"})
MARGIN = 1.1
"""What our count may be above the strategy's own, which counts what is around a text, too."""

_COUNTER = EstimatedTokens()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one strategy chose of one conversation."""

    messages: int
    tokens: int
    facts: int
    has_asked: bool
    """The fact that the question asks for."""
    window_has_asked: bool
    """… the plain window that takes as many tokens."""


class Told:
    """A conversation of one size that ends with a question for one of the facts, or another."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._said = conversation(size)
        check(held(self._said) == FACTS.keys(), "not every fact was said")
        check(len(self._said) == size - 1, f"{len(self._said)} messages before the question")
        self._counts = [*map(_tokens, self._said)]

    def asking(self, fact: str) -> list[ContextMessage]:
        return [*self._said, question(fact)]

    def window(self, fact: str, tokens: int) -> Sequence[ContextMessage]:
        asking = self.asking(fact)
        return plain_window(asking, tokens, [*self._counts, _tokens(asking[-1])])


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    rows: list[Row] = []
    for size in SIZES[: scale.of(len(SIZES), quick=2)]:
        told = Told(size)
        for name, strategy in STRATEGIES.items():
            rows += _rows(name, strategy, told, times=scale.of(200, quick=10))
    return [*rows, *await measure_prefix(scale)]


def _rows(name: str, strategy: ContextManagement, told: Told, *, times: int) -> list[Row]:
    history = told.asking(next(iter(FACTS)))
    first_ms = _ms(strategy, history)
    samples = Samples([_ms(strategy, history) for _ in range(times)])
    timed = Row(
        name=f"context: {name}, of {told.size} messages",
        unit="ms",
        ours=samples.median,
        spread=samples.spread,
        goal=GOAL,
        note=f"the first time, when all is read, {first_ms:.0f} ms",
    )
    return [
        timed,
        _facts_row(name, told.size, [_choice(name, strategy, told, one) for one in FACTS]),
    ]


def _facts_row(name: str, size: int, choices: Sequence[Choice]) -> Row:
    messages, tokens = (
        fmean(one.messages for one in choices),
        fmean(one.tokens for one in choices),
    )
    return Row(
        name=f"context: {name}, facts kept that are asked for, of {size} messages",
        unit=f"of {len(FACTS)}",
        ours=sum(one.has_asked for one in choices),
        baseline=sum(one.window_has_asked for one in choices),
        baseline_name="window of as many tokens",
        note=f"{messages:.0f} messages, {tokens:.0f} tokens; of all facts, asked for or not,"
        f" {fmean(one.facts for one in choices):.1f}",
    )


def _choice(name: str, strategy: ContextManagement, told: Told, asked: str) -> Choice:
    history = told.asking(asked)
    kept = strategy.apply_context_strategy(history, PROMPT)
    tokens = sum(map(_tokens, kept))
    _check_choice(name, history, kept, tokens)
    return Choice(
        messages=len(kept),
        tokens=tokens,
        facts=len(held(kept)),
        has_asked=asked in held(kept),
        window_has_asked=asked in held(told.window(asked, tokens)),
    )


def _check_choice(
    name: str,
    history: Sequence[ContextMessage],
    kept: Sequence[ContextMessage],
    tokens: int,
) -> None:
    """Raises WrongAnswer."""
    check(str(kept[0].get("content")).startswith(PROMPT), f"{name}: the prompt is not first")
    check(kept[-1] is history[-1], f"{name}: the question is not there")
    places = {id(one): place for place, one in enumerate(history)}
    order = [places[id(one)] for one in kept if id(one) in places]
    check(order == sorted(set(order)), f"{name}: not in the order of the conversation")
    check(_have_calls(kept), f"{name}: a tool's result without its call")
    is_within = name not in LIMITED or tokens <= LIMIT * MARGIN
    check(is_within, f"{name}: {tokens} tokens, and the limit is {LIMIT}")


def _have_calls(kept: Sequence[ContextMessage]) -> bool:
    """Of each tool's result."""
    called: set[str] = set()
    for one in kept:
        if one["role"] == "assistant":
            called |= {call["id"] for call in one.get("tool_calls") or ()}
        if one["role"] == "tool" and one["tool_call_id"] not in called:
            return False
    return True


def _tokens(message: ContextMessage) -> int:
    return _COUNTER.count(str(message.get("content") or ""))


def _ms(strategy: ContextManagement, history: list[ContextMessage]) -> float:
    began = time.perf_counter()
    strategy.apply_context_strategy(history, PROMPT)
    return (time.perf_counter() - began) * 1000
