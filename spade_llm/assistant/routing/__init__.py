"""Answer routing: routing functions and rules that name an answer's recipients."""

from spade_llm.assistant.routing.rules import (
    Routed,
    RoutedMessage,
    RoutingFunction,
    RoutingResponse,
    RoutingRule,
    first_of,
    routing_rule,
)

__all__ = [
    "Routed",
    "RoutedMessage",
    "RoutingFunction",
    "RoutingResponse",
    "RoutingRule",
    "first_of",
    "routing_rule",
]
