"""Routing functions, prioritized routing rules, and the hop counter of forwarded answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from collections.abc import Mapping


class RoutedMessage(Protocol):
    """Message as a routing function sees it; SPADE's Message has this interface."""

    @property
    def sender(self) -> object:
        """Full JID; `str()` of it."""
        ...

    @property
    def body(self) -> str | None: ...

    @property
    def thread(self) -> str | None: ...

    def get_metadata(self, key: str) -> str | None: ...


@dataclass(slots=True)
class RoutingResponse:
    recipients: str | list[str]
    """Bare or full JIDs."""
    transform: Callable[[str], str] | None = None
    """Makes of the answer what is sent."""
    metadata: dict[str, str] | None = None
    """Goes along with it."""


Routed = str | list[str] | RoutingResponse | None
"""Return value of a routing function: a recipient, several, or a RoutingResponse; `""`, `[]` or
None: the default recipient."""

RoutingFunction = Callable[[RoutedMessage, str, dict[str, object]], Routed | Awaitable[Routed]]
"""Takes the message, the model's answer, and `conversation_id` with the conversation's `state`."""


if TYPE_CHECKING:
    RoutingRuleFunction = Callable[..., Routed | Awaitable[Routed]]
    """A RoutingFunction, or a method that is one once it is bound."""


class RoutingRule:
    """Still the function, when called."""

    def __init__(self, func: RoutingRuleFunction, *, priority: int, name: str | None) -> None:
        self._func = func
        self.priority = priority
        self.name = name or getattr(func, "__name__", "routing rule")
        update_wrapper(self, func)

    # Without it a decorated method would not be bound: only functions are by themselves.
    def __get__(self, instance: object, owner: type | None = None) -> RoutingRule:
        """The rule itself on the class; on an instance a rule over the bound method."""
        if instance is None:
            return self
        return RoutingRule(MethodType(self._func, instance), priority=self.priority, name=self.name)

    def __call__(
        self, message: RoutedMessage, answer: str, context: dict[str, object]
    ) -> Routed | Awaitable[Routed]:
        return self._func(message, answer, context)


def routing_rule(
    priority: int = 0, name: str | None = None
) -> Callable[[RoutingRuleFunction], RoutingRule]:
    """Mark a routing function or method as a rule; `first_of` asks those with higher priority
    first."""

    def made(func: RoutingRuleFunction) -> RoutingRule:
        return RoutingRule(func, priority=priority, name=name)

    return made


def first_of(*rules: RoutingRule) -> RoutingFunction:
    """Routing function that applies the rules by priority and follows the first that names a
    recipient."""
    # Stable: of equal priority the first given goes first.
    in_order = sorted(rules, key=lambda rule: -rule.priority)

    async def route(message: RoutedMessage, answer: str, context: dict[str, object]) -> Routed:
        for rule in in_order:
            routed = rule(message, answer, context)
            routed = await routed if inspect.isawaitable(routed) else routed
            if routed:
                return routed
        return None

    return route


HOPS_KEY = "hops"
"""Its key in a message's metadata."""
MAX_HOPS = 32
"""Maximum number of hops of a chain; then the answer is not forwarded any further."""
MAX_REMEMBERED = 4096


class HopCounter:
    """Programs that know nothing of it answer without the number: to them it is remembered."""

    def __init__(self, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._sent: LruDict[tuple[str, str], int] = LruDict(max_remembered)

    def passed_on(self, to: str, thread: str, hops: int) -> None:
        self._sent[to, thread] = hops

    def of(self, sender: str, thread: str, metadata: Mapping[str, str]) -> int:
        """Hop count of a message; 0: it was not forwarded."""
        said = metadata.get(HOPS_KEY, "")
        # Bounded: it is the peer's word, and int() refuses more than 4300 digits.
        if said.isdecimal() and len(said) <= 6:
            return int(said)
        return self._sent.get((sender, thread), 0)
