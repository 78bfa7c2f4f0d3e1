"""Routing of answers: to others than who asked."""

from spade_llm.routing.routing import Routed, RoutedMessage, RoutingFunction, RoutingResponse
from spade_llm.routing.rule import RoutingRule, first_of, routing_rule

__all__ = [
    "Routed",
    "RoutedMessage",
    "RoutingFunction",
    "RoutingResponse",
    "RoutingRule",
    "first_of",
    "routing_rule",
]
