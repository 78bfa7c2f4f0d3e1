"""Equal beginning of successive prompts: what a model's prompt cache can reuse, and the processor
time of a turn's context, in one long conversation.

An assistant answers with its standard strategy. Every question recalls other memories; every third
one finds passages of documents, every third calls a tool. The model is a script that keeps each
request as the provider gets it: tool schemas, then messages.
"""

from __future__ import annotations

import json
import random
import time
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.facts import conversation
from bench.row import Goal, Row, Scale, check
from bench.words import ENGLISH
from spade_llm.assistant.chat.service import ChatTurnInput
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.assistant.turn.prompt import DEFAULT_SYSTEM_PROMPT
from spade_llm.context import AdaptiveSmartContext, EstimatedTokens
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryDraft
from spade_llm.messaging import AclMessage, Performative
from spade_llm.providers import Completion, ToolCall
from spade_llm.providers.openai.request_body import build_request
from spade_llm.rag.contract import Chunk, Retrieval, ScoredChunk
from spade_llm.tools import tool
from spade_llm.tools.builtin import builtin_tools
from spade_llm.tools.local import LocalToolbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from spade_llm.context import ContextManagement, ContextMessage
    from spade_llm.providers.model import Sampling, TextDelta, ToolSpec
    from spade_llm.rag.contract import RetrievalOptions

TOKEN_LIMIT = 6000
"""Of the standard assistant."""
TURNS = 100
OWNER, PEER = "assistant@x", "ada@x"
LATE_MESSAGE, FIRST_CUTS, FIRST_MESSAGES, WINDOW = 1000, 200, 10, 100
SHORT_TURNS = 8
"""Turns of a short conversation: 20 to 25 messages."""
EQUAL_GOAL = Goal(limit=85.0, is_least=True)
GROWTH_GOAL = Goal(limit=1.2, is_ratio=True)
QUESTION_WORDS, ANSWER_WORDS, RESULT_WORDS = 15, 45, 60
MEMORIES, MEMORY_WORDS = 100, 12
PASSAGES, PASSAGE_WORDS = 4, 70
FREQUENT = ("the", "a", "of", "to", "in", "and", "is", "was", "that", "my", "for", "we", "it", "on")
EVERY = 3
"""Every third question is about documents, the one after it calls a tool."""

_COUNTER = CachedTokenCounter(EstimatedTokens())


def _words(chance: random.Random, count: int) -> str:
    """Every other word is a frequent one, as in any text."""
    return " ".join(chance.choice(FREQUENT if i % 2 else ENGLISH) for i in range(count))


@tool
def look_up(what: str) -> str:
    """Look something up.

    Args:
        what: The words to look for.
    """
    return _words(random.Random(what), RESULT_WORDS)


@dataclass(slots=True)
class RecordingModel:
    """Model that keeps its prompts, answers in random words, and calls a tool when asked to."""

    keeps_prompts: bool = True
    calls: int = 0
    name: str = "recording"
    prompts: list[list[str]] = field(default_factory=list)
    """Of each call, the tool schemas and then the messages."""

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        self.calls += 1
        if self.keeps_prompts:
            body = build_request(messages, tools, settings={}, tool_choice=tool_choice)
            self.prompts.append([json.dumps(body.get("tools", [])), *map(json.dumps, messages)])
        last, number = messages[-1], self.calls
        said = str(last["content"])
        if last["role"] == "user" and said.startswith("Look up"):
            call = ToolCall(
                id=f"call_{number}", name="look_up", arguments=json.dumps({"what": said})
            )
            return Completion(tool_calls=(call,))
        return Completion(text=f"{_words(random.Random(number), ANSWER_WORDS)}.")

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncIterator[TextDelta | Completion]:
        yield await self.complete(messages, tools, tool_choice=tool_choice)


class Passages:
    """Retriever that finds passages for questions about documents."""

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        if not query.startswith("According"):
            return Retrieval(chunks=())
        chance = random.Random(query)
        texts = [_words(chance, PASSAGE_WORDS) for _ in range(min(k, PASSAGES))]
        return Retrieval(
            chunks=tuple(
                ScoredChunk(
                    chunk=Chunk(
                        text=text, source=f"{i}.txt", namespace="docs", index=i, start=0, end=1
                    ),
                    score=0.9 - i / 10,
                )
                for i, text in enumerate(texts)
            )
        )


def question(number: int) -> str:
    """About documents, for a tool, or a statement."""
    words = _words(random.Random(f"question {number}"), QUESTION_WORDS)
    match number % EVERY:
        case 0:
            return f"According to the manual, {words}, number {number}?"
        case 1:
            return f"Look up {words} number {number}, please?"
        case _:
            return f"I think that {words}, and there are {number} of them."


@asynccontextmanager
async def assistant(
    strategy: ContextManagement, model: RecordingModel
) -> AsyncIterator[LLMBehaviour]:
    """An assistant that knows some memories, with the tools of the standard assistant."""
    chance = random.Random(5)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        backend = await stack.enter_async_context(SQLiteMemoryBackend(Path(folder) / "memory.db"))
        memory = backend.for_owner(OWNER)
        for _ in range(MEMORIES):
            await memory.add(MemoryDraft(content=_words(chance, MEMORY_WORDS), subject=PEER))
        outbox = await stack.enter_async_context(MemoryOutbox(None))
        yield LLMBehaviour(
            model,
            strategy=strategy,
            system_prompt=DEFAULT_SYSTEM_PROMPT,
            memory=MemoryBehaviour(memory=memory, retriever=Passages(), outbox=outbox),
            memory_offer=MemoryOffer(owner=OWNER),
            toolboxes=[LocalToolbox([*builtin_tools(), look_up])],
            limits=TurnLimits(),
        )


async def ask(behaviour: LLMBehaviour, number: int, *, conversation: str = "talk") -> None:
    text = question(number)
    message = AclMessage(
        performative=Performative.REQUEST, sender=f"{PEER}/1", receiver=OWNER, content=text
    )
    asked = ChatTurnInput(
        id=str(number), peer=PEER, conversation=conversation, text=text, message=message
    )
    reply = await behaviour.answer(asked)
    check(not reply.failure, f"turn {number} failed: {reply.failure}")


async def measure_prefix(scale: Scale) -> list[Row]:
    """Rows of the equal prefix, and of the time of a turn early and late in a conversation."""
    turns = scale.of(TURNS, quick=20)
    model = RecordingModel()
    async with assistant(AdaptiveSmartContext(TOKEN_LIMIT), model) as behaviour:
        # The first part fits whole, and is no test of a strategy.
        number = 0
        while _count(model.prompts[-1] if model.prompts else ()) < TOKEN_LIMIT:
            await ask(behaviour, number)
            number += 1
        del model.prompts[:-1]
        for later in range(number, number + turns):
            await ask(behaviour, later)
    pairs = list(pairwise(model.prompts))
    equal = sum(_count(equal_prefix(one, other)) for one, other in pairs)
    total = sum(_count(other) for _, other in pairs)
    return [
        Row(
            name="context: adaptive, equal prefix from one model call to the next",
            unit="% of tokens",
            ours=100 * equal / total,
            goal=EQUAL_GOAL,
            note=f"{turns} turns, {len(pairs)} calls of {total // len(pairs)} tokens",
        ),
        await _turn_growth(scale),
        await _strategy_growth(scale),
    ]


async def _turn_growth(scale: Scale) -> Row:
    """A whole turn of the assistant, in one process, without the model's time. Turns of the long
    conversation and of short ones alternate: other work on the machine affects both."""
    late = scale.of(LATE_MESSAGE, quick=300)
    times: list[float] = []
    early: list[float] = []
    model, number = RecordingModel(keeps_prompts=False), 0
    async with assistant(AdaptiveSmartContext(TOKEN_LIMIT), model) as behaviour:
        messages = behaviour.conversations.get("talk", peer=PEER).messages
        while len(messages) < late - WINDOW:
            await ask(behaviour, number)
            number += 1
        while len(messages) < late + WINDOW:
            times.append(await _turn_ms(behaviour, number, "talk"))
            # Another question of the same kind.
            other, short = number + EVERY * late, f"short talk {number // SHORT_TURNS}"
            early.append(await _turn_ms(behaviour, other, short))
            number += 1
    return Row(
        name=f"context: adaptive, processor time of a turn at message {late}",
        unit="ms",
        ours=median(times),
        baseline=median(early),
        baseline_name=f"around message {FIRST_MESSAGES}",
        goal=GROWTH_GOAL,
        note="memory in the same process",
    )


async def _turn_ms(behaviour: LLMBehaviour, number: int, conversation: str) -> float:
    """Milliseconds of processor time."""
    began = time.process_time()
    await ask(behaviour, number, conversation=conversation)
    return (time.process_time() - began) * 1000


class StrategyTalk:
    """One conversation, and a strategy that follows it turn by turn."""

    def __init__(self, size: int, *, seed: int) -> None:
        self._said = conversation(size, seed=seed)
        self._strategy = AdaptiveSmartContext(TOKEN_LIMIT)
        asked = [at for at, one in enumerate(self._said) if one["role"] == "user"]
        self._turns = deque(pairwise([*asked, len(self._said)]))

    async def turns(self, until: int) -> list[float]:
        """Milliseconds of each turn before this message."""
        times: list[float] = []
        while self._turns and self._turns[0][0] < until:
            times.append(await self.turn())
        return times

    async def turn(self) -> float:
        at, following = self._turns.popleft()
        history = self._said[: at + 1]
        began = time.process_time()
        await self._strategy.prepare(history)
        self._strategy.apply_context_strategy(history, DEFAULT_SYSTEM_PROMPT)
        await self._strategy.work_ahead(self._said[:following])
        return (time.process_time() - began) * 1000

    @property
    def is_over(self) -> bool:
        return not self._turns


async def _strategy_growth(scale: Scale) -> Row:
    """The strategy alone, with what it prepares before and between turns; turns of two
    conversations alternate."""
    late = scale.of(LATE_MESSAGE, quick=300)
    long = StrategyTalk(late + WINDOW, seed=7)
    short = StrategyTalk(FIRST_CUTS + WINDOW, seed=8)
    fitting = await short.turns(2 * FIRST_MESSAGES)
    await short.turns(FIRST_CUTS - WINDOW)
    await long.turns(late - WINDOW)
    times: list[float] = []
    early: list[float] = []
    while not (long.is_over or short.is_over):
        times.append(await long.turn())
        early.append(await short.turn())
    return Row(
        name=f"context: adaptive, strategy time of a turn at message {late}",
        unit="ms",
        ours=fmean(times),
        baseline=fmean(early),
        baseline_name=f"around message {FIRST_CUTS}, behind the first cuts",
        goal=GROWTH_GOAL,
        note=f"around message {FIRST_MESSAGES}, where everything fits, {fmean(fitting):.2f} ms",
    )


def equal_prefix(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The beginning that is the same in both prompts, in whole messages."""
    pairs = zip(one, other, strict=False)
    return [left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _count(prompt: Sequence[str]) -> int:
    return sum(map(_COUNTER.text, prompt))
