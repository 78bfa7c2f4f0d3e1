"""routing_rule: routing functions with a rank, and several of them as one. Knows no agent."""

from __future__ import annotations

import inspect
from functools import update_wrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.routing.routing import Routed, RoutedMessage, RoutingFunction


class RoutingRule:
    """Still the function, when called."""

    def __init__(self, func: RoutingFunction, *, priority: int, name: str | None) -> None:
        self._func = func
        self.priority = priority
        self.name = name or getattr(func, "__name__", "routing rule")
        update_wrapper(self, func)

    def __call__(
        self, message: RoutedMessage, answer: str, context: dict[str, object]
    ) -> Routed | Awaitable[Routed]:
        return self._func(message, answer, context)


def routing_rule(
    priority: int = 0, name: str | None = None
) -> Callable[[RoutingFunction], RoutingRule]:
    """Mark a routing function as a rule; `first_of` asks those with higher priority first."""

    def made(func: RoutingFunction) -> RoutingRule:
        return RoutingRule(func, priority=priority, name=name)

    return made


def first_of(*rules: RoutingRule) -> RoutingFunction:
    """One routing function of several rules: the first that names somebody is followed."""
    in_order = sorted(rules, key=lambda rule: -rule.priority)

    async def route(message: RoutedMessage, answer: str, context: dict[str, object]) -> Routed:
        for rule in in_order:
            routed = rule(message, answer, context)
            routed = await routed if inspect.isawaitable(routed) else routed
            if routed:
                return routed
        return None

    return route
