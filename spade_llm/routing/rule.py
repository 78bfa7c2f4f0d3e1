"""routing_rule: routing functions with a rank, and several of them as one. Knows no agent."""

from __future__ import annotations

import inspect
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.routing.routing import Routed, RoutedMessage, RoutingFunction

    RoutingRuleFunction = Callable[..., Routed | Awaitable[Routed]]
    """A RoutingFunction, or a method that is one once it is bound."""


class RoutingRule:
    """Still the function, when called."""

    def __init__(self, func: RoutingRuleFunction, *, priority: int, name: str | None) -> None:
        self._func = func
        self.priority = priority
        self.name = name or getattr(func, "__name__", "routing rule")
        update_wrapper(self, func)

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
