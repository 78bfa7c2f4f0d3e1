"""Retention: fills a context with message blocks within a budget of messages and tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from math import inf
from typing import TYPE_CHECKING

from spade_llm.providers.model import ContextMessage, SystemMessage

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextManagement
    from spade_llm.context.token_counter import CachedTokenCounter, Truncator

MIN_EXCHANGE_MESSAGES = 2
"""A call and its result."""


def leading_system_messages(messages: list[ContextMessage]) -> int:
    return sum(1 for _ in takewhile(lambda message: message["role"] == "system", messages))


def ensure_system_prompt(
    messages: list[ContextMessage], system_prompt: str | None
) -> list[ContextMessage]:
    """Put the system prompt before the messages. Strategies of spade_llm 0.3 return messages only;
    a result that opens with a system message is left as it is."""
    if leading_system_messages(messages):
        return messages
    return with_system_prompt(messages, system_prompt)


def with_system_prompt(
    messages: list[ContextMessage], system_prompt: str | None
) -> list[ContextMessage]:
    """Return a new list that begins with the prompt, if there is one and it is not there yet."""
    if not system_prompt:
        return list(messages)
    prompt = SystemMessage(role="system", content=system_prompt)
    if messages and messages[0] == prompt:
        return list(messages)
    return [prompt, *messages]


def blocks_oldest_first(messages: list[ContextMessage], first: int) -> Iterator[range]:
    """Iterate over the blocks from `first` on: single messages, tool calls with their results."""
    start = first
    while start < len(messages):
        stop = start + 1
        if calls_tools(messages[start]):
            while stop < len(messages) and messages[stop]["role"] == "tool":
                stop += 1
        yield range(start, stop)
        start = stop


def blocks_newest_first(
    messages: list[ContextMessage], first: int, stop: int | None = None
) -> Iterator[range]:
    """Iterate over the same blocks from the end, or from `stop`, where a block must end. Messages
    are read only as far as the iteration goes."""
    stop = len(messages) if stop is None else stop
    while stop > first:
        results = stop
        while results > first and messages[results - 1]["role"] == "tool":
            results -= 1
        if results > first and calls_tools(messages[results - 1]):
            yield range(results - 1, stop)
            stop = results - 1
        else:
            start = min(results, stop - 1)
            yield from (range(index, index + 1) for index in reversed(range(start, stop)))
            stop = start


def tool_blocks_newest_first(messages: list[ContextMessage], first: int) -> Iterator[range]:
    """Iterate over the blocks of tool calls and results. Skipping a message takes 0.05 µs."""
    places = [i for i, one in enumerate(messages) if "tool_call_id" in one or "tool_calls" in one]
    start = len(messages)
    for index in reversed(places):
        if first <= index < start:
            block = next(blocks_newest_first(messages, first, index + 1))
            start = block.start
            if messages[start]["role"] == "tool" or calls_tools(messages[start]):
                yield block


def calls_tools(message: ContextMessage) -> bool:
    return message["role"] == "assistant" and bool(message.get("tool_calls"))


def repair_history(
    messages: list[ContextMessage], strategy: ContextManagement
) -> list[ContextMessage]:
    """Apply a strategy and repair its result: leading system messages and the current turn are put
    back, and incomplete tool exchanges are dropped."""
    kept = list(strategy.apply_context_strategy(list(messages), None))
    if len(kept) == len(messages) and kept == messages:
        return messages
    first = leading_system_messages(messages)
    users = (
        block.start
        for block in blocks_newest_first(messages, first)
        if messages[block.start]["role"] == "user"
    )
    turn = messages[next(users, len(messages)) :]
    # By identity: different messages may have equal text.
    here = {id(message) for message in (*messages[:first], *turn)}
    others = [message for message in kept if id(message) not in here]
    complete = [
        others[index]
        for block in blocks_oldest_first(others, 0)
        if _is_complete(others, block)
        for index in block
    ]
    return [*messages[:first], *complete, *turn]


def _is_complete(messages: list[ContextMessage], block: range) -> bool:
    head = messages[block.start]
    if head["role"] == "tool":
        return False
    if head["role"] != "assistant" or not calls_tools(head):
        return True
    wanted = [call["id"] for call in head.get("tool_calls", [])]
    results = (messages[index] for index in block[1:])
    # OpenAI-compatible servers answer 400 to calls without their results, and vice versa.
    return wanted == [one["tool_call_id"] for one in results if one["role"] == "tool"]


class Retention:
    """Messages of a history kept within a budget. Call the `keep` methods by importance."""

    def __init__(
        self,
        messages: list[ContextMessage],
        budget: ContextBudget,
        *,
        truncator: Truncator | None = None,
    ) -> None:
        """`truncator`: with a limit of tokens, what is too long is shortened."""
        self.messages = messages
        self.first = leading_system_messages(messages)
        self.budget = budget
        self.generated: list[ContextMessage] = []
        """Generated messages, placed after the system messages."""
        self._truncator = truncator
        self._has_everything = False
        self._kept: dict[int, tuple[range, list[ContextMessage]]] = {}
        if budget.counter is not None:
            budget.tokens -= budget.counter.messages(messages[: self.first])

    @property
    def fits_whole(self) -> bool:
        """True if the whole history fits, without the leading system messages."""
        if len(self.messages) - self.first > self.budget.messages:
            return False
        counter, left = self.budget.counter, self.budget.tokens
        if counter is None:
            return True
        # From the end, so that a long history ends the loop early.
        for message in islice(reversed(self.messages), len(self.messages) - self.first):
            left -= counter.message(message)
            if left < 0:
                return False
        return True

    @property
    def question(self) -> int:
        """Index of the newest user message; the length of the history if there is none."""
        for index in range(len(self.messages) - 1, self.first - 1, -1):
            if self.messages[index]["role"] == "user":
                return index
        return len(self.messages)

    @property
    def oldest_recent(self) -> int:
        """Index of the first message of the unbroken part at the end of the history."""
        start = len(self.messages)
        for block in blocks_newest_first(self.messages, self.first):
            if block.start not in self._kept:
                break
            start = block.start
        return start

    @property
    def truncated_messages(self) -> int:
        return sum(
            shown is not self.messages[index]
            for block, messages in self._kept.values()
            for index, shown in zip(block, messages, strict=True)
        )

    @property
    def kept_blocks(self) -> list[tuple[range, list[ContextMessage]]]:
        """The kept blocks in the order of the history, and their messages as they are shown."""
        return [self._kept[start] for start in sorted(self._kept)]

    def whole_blocks(self) -> list[int]:
        """Return the start indexes of the kept blocks without truncated messages."""
        return [
            block.start
            for block, shown in self._kept.values()
            if all(one is self.messages[index] for index, one in zip(block, shown, strict=True))
        ]

    def kept_messages(self) -> int:
        if self._has_everything:
            return len(self.messages) - self.first
        return sum(len(block) for block, _ in self._kept.values())

    def keep_everything(self) -> None:
        """Keep the whole history, including incomplete exchanges."""
        self._has_everything = True

    def keep_current_turn(self) -> None:
        """The newest user message, and the exchange that ends the history if one does."""
        last = None
        for position, block in enumerate(blocks_newest_first(self.messages, self.first)):
            if position == 0 and self._is_tools(block):
                last = block
            if self.messages[block.start]["role"] == "user":
                self._keep_over_budget(block, self._whole(block))
                break
        # After the question, which is kept whole: its results share what is left.
        if last is not None:
            self._keep_over_budget(last, self._fitting(last))

    def keep_initial(self, count: int) -> None:
        """The blocks that lie wholly within the first `count` messages, as far as they fit."""
        behind = self.first + count
        for block in blocks_oldest_first(self.messages, self.first):
            if block.stop > behind or not self.keep(block):
                return

    def keep_tools(self) -> None:
        """Exchanges, newest first; one that does not fit is left out whole.

        The search ends when not even the smallest exchange would fit.
        """
        for block in tool_blocks_newest_first(self.messages, self.first):
            if self.budget.is_exhausted or self.budget.messages < min(
                len(block), MIN_EXCHANGE_MESSAGES
            ):
                return
            self.keep(block)

    def keep_recent(self, *, oldest: int = 0, earliest_tool_index: int = 0) -> None:
        """Keep blocks from the end on, without a gap, up to the first that does not fit.

        Blocks before `oldest` and tool exchanges before `earliest_tool_index` are not kept.
        """
        for block in blocks_newest_first(self.messages, max(self.first, oldest)):
            if block.start < earliest_tool_index and self._is_tools(block):
                continue
            if not self.keep(block):
                return

    def keep_recent_non_tool(self, *, oldest: int = 0) -> None:
        """Keep messages other than tool exchanges from the end on until the budget is exhausted."""
        for block in blocks_newest_first(self.messages, max(self.first, oldest)):
            if self.budget.is_exhausted:
                return
            if not self._is_tools(block):
                self.keep(block)

    def keep(self, block: range, *, within: ContextBudget | None = None) -> bool:
        """Keep the block if it fits and return True if it is kept. `within` is a share of the
        budget that is charged as well."""
        if block.start in self._kept:
            return True
        shown = self._shown(block)
        cost = self.budget.cost(shown)
        if not self.budget.covers(cost) or (within and not within.covers(cost)):
            return False
        self._keep(block, shown, cost)
        if within:
            within.charge(cost)
        return True

    def write(self, message: ContextMessage) -> bool:
        """Put a message of ours before the history, if it fits."""
        cost = self.budget.cost([message])
        if not self.budget.covers(cost):
            return False
        self.budget.charge(cost)
        self.generated.append(message)
        return True

    def result(self) -> list[ContextMessage]:
        """Kept messages after the leading system messages, in the order of the history."""
        if self._has_everything:
            return list(self.messages)
        kept = [*self.messages[: self.first], *self.generated]
        for _, shown in self.kept_blocks:
            kept += shown
        return kept

    def _is_tools(self, block: range) -> bool:
        message = self.messages[block.start]
        return message["role"] == "tool" or calls_tools(message)

    def _whole(self, block: range) -> list[ContextMessage]:
        return self.messages[block.start : block.stop]

    def _shown(self, block: range) -> list[ContextMessage]:
        whole = self._whole(block)
        return self._truncator.truncate_old(whole) if self._truncator else whole

    def _fitting(self, block: range) -> list[ContextMessage]:
        whole = self._whole(block)
        if self._truncator is None or self.budget.covers(self.budget.cost(whole)):
            return whole
        return self._truncator.truncate_exchange(whole, self.budget.tokens)

    def _keep_over_budget(self, block: range, shown: list[ContextMessage]) -> None:
        self._keep(block, shown, self.budget.cost(shown))

    def _keep(self, block: range, shown: list[ContextMessage], cost: ContextCost) -> None:
        if block.start not in self._kept:
            self._kept[block.start] = (block, shown)
            self.budget.charge(cost)


@dataclass(frozen=True, slots=True)
class ContextCost:
    messages: int
    tokens: int


class ContextBudget:
    """Remaining messages and tokens; tokens are counted only if they are limited."""

    def __init__(
        self,
        *,
        messages: float = inf,
        tokens: float = inf,
        counter: CachedTokenCounter | None = None,
    ) -> None:
        """`counter`: needed for a limit of tokens."""
        self.messages = messages
        self.tokens = tokens
        self.counter = counter if tokens < inf else None

    @property
    def is_exhausted(self) -> bool:
        return self.messages <= 0 or self.tokens <= 0

    def cost(self, messages: Sequence[ContextMessage]) -> ContextCost:
        tokens = self.counter.messages(messages) if self.counter else 0
        return ContextCost(len(messages), tokens)

    def covers(self, cost: ContextCost) -> bool:
        return cost.messages <= self.messages and cost.tokens <= self.tokens

    def charge(self, cost: ContextCost) -> None:
        """Subtract the cost. The rest may be negative: the current turn is always kept."""
        self.messages -= cost.messages
        self.tokens -= cost.tokens

    def refund(self, cost: ContextCost) -> None:
        self.messages += cost.messages
        self.tokens += cost.tokens

    def part(self, share: float) -> ContextBudget:
        """Return a separate budget of this share of what is left."""
        return ContextBudget(
            messages=self.messages if self.messages == inf else int(self.messages * share),
            tokens=self.tokens if self.tokens == inf else int(self.tokens * share),
            counter=self.counter,
        )
