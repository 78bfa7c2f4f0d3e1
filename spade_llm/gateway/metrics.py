"""Prometheus metrics of /metrics: requests, streams, tokens, agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Metrics:
    """Prometheus metrics of one gateway, in a registry of its own: two gateways may share a
    process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "spade_llm_http_requests_total",
            "Answered requests.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "spade_llm_http_request_seconds",
            "Time from the request's head to the end of its response.",
            ("route",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self.in_flight = Gauge(
            "spade_llm_http_requests_in_flight", "Requests in progress.", registry=registry
        )
        self._streams = Gauge(
            "spade_llm_http_streams_open", "Streamed answers in progress.", registry=registry
        )
        self.tokens = Counter(
            "spade_llm_chat_tokens_total",
            "Tokens used by chats through this gateway, as counted by the models.",
            ("kind",),
            registry=registry,
        )
        self._connected = Gauge(
            "spade_llm_xmpp_connected", "1 if connected to the XMPP server.", registry=registry
        )
        self.agents = Gauge(
            "spade_llm_agent_available",
            "1 if the agent answered the latest status request.",
            ("agent",),
            registry=registry,
        )

    def watch(self, *, streams: Callable[[], int], is_connected: Callable[[], bool]) -> None:
        """Register the callbacks that give the gauges their values at each scrape."""
        self._streams.set_function(streams)
        self._connected.set_function(is_connected)

    def count_tokens(self, prompt: int, completion: int) -> None:
        """Count the tokens of one model answer."""
        self.tokens.labels("prompt").inc(prompt)
        self.tokens.labels("completion").inc(completion)

    def text(self) -> bytes:
        return generate_latest(self._registry)
