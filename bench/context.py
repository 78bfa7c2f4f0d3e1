"""Choosing what of a conversation of 10 000 messages reaches the model, by each strategy."""

from __future__ import annotations

import random
import time
from statistics import median
from typing import TYPE_CHECKING

from bench.row import Goal, Row, Scale, check
from bench.words import ENGLISH
from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)
from spade_llm.providers.messages import FunctionCall, ToolCallEntry

if TYPE_CHECKING:
    from bench.stage import Stage
    from spade_llm.context import ContextManagement, ContextMessage

MESSAGES = 10_000
PROMPT = "You are a helpful assistant in a chat."
GOAL = Goal(limit=1.0)
STRATEGIES: dict[str, ContextManagement] = {
    "window": WindowSizeContext(40),
    "smart, tools first": SmartWindowSizeContext(40, 4, True),
    "token budget": TokenBudget(4000),
    "semantic, by words": SemanticRetention(40),
    "compression, by words": Compression(1000),
    "adaptive window": AdaptiveWindow(),
    "budget + semantic + compression": CombinedContext(
        [TokenBudget(4000), SemanticRetention(), Compression()]
    ),
    "adaptive": AdaptiveSmartContext(4000),
}


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    history = _conversation(random.Random(7))
    return [
        _row(name, one, history, times=scale.of(200, quick=20)) for name, one in STRATEGIES.items()
    ]


def _row(
    name: str, strategy: ContextManagement, history: list[ContextMessage], *, times: int
) -> Row:
    first_ms = _ms(strategy, history)
    kept = strategy.apply_context_strategy(history, PROMPT)
    check(kept[-1] is history[-1], f"{name}: the question is not there")
    check(len(kept) < MESSAGES / 10, f"{name}: nothing was left out")
    return Row(
        name=f"context: {name}, of {MESSAGES} messages",
        unit="ms",
        ours=median(_ms(strategy, history) for _ in range(times)),
        goal=GOAL,
        note=f"{len(kept)} messages; the first time, when all is read, {first_ms:.0f} ms",
    )


def _ms(strategy: ContextManagement, history: list[ContextMessage]) -> float:
    began = time.perf_counter()
    strategy.apply_context_strategy(history, PROMPT)
    return (time.perf_counter() - began) * 1000


def _conversation(chance: random.Random) -> list[ContextMessage]:
    history: list[ContextMessage] = []
    while len(history) < MESSAGES - 1:
        history.append({"role": "user", "content": _sentence(chance)})
        if chance.random() < 0.15:
            history += _exchange(f"call_{len(history)}", chance)
        history.append({"role": "assistant", "content": _sentence(chance)})
    return [*history, {"role": "user", "content": f"{_sentence(chance)[:-1]}?"}]


def _exchange(id: str, chance: random.Random) -> list[ContextMessage]:
    function = FunctionCall(name="look_up", arguments=f'{{"what": "{chance.choice(ENGLISH)}"}}')
    call = ToolCallEntry(id=id, type="function", function=function)
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": _sentence(chance) * 5, "tool_call_id": id},
    ]


def _sentence(chance: random.Random) -> str:
    words = " ".join(chance.choice(ENGLISH) for _ in range(16))
    return f"The {words} is number {chance.randint(1, 9999)}."
