"""Routing of answers: to others than who asked."""

from spade_llm.routing.routing import RoutedMessage, RoutingFunction, RoutingResponse

__all__ = ["RoutedMessage", "RoutingFunction", "RoutingResponse"]
