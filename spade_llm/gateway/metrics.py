"""Prometheus metrics of /metrics: requests, streams, tokens, agents, replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from spade_llm.messaging.agent_status import AgentStatus

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
        self._agents = _AgentCollector()
        registry.register(self._agents)

    def watch(self, *, streams: Callable[[], int], is_connected: Callable[[], bool]) -> None:
        """Register the callbacks that give the gauges their values at each scrape."""
        self._streams.set_function(streams)
        self._connected.set_function(is_connected)

    def count_tokens(self, prompt: int, completion: int) -> None:
        """Count the tokens of one model answer."""
        self.tokens.labels("prompt").inc(prompt)
        self.tokens.labels("completion").inc(completion)

    def text(self, statuses: Mapping[str, AgentStatus | None]) -> bytes:
        """Metrics in Prometheus' text format. `statuses`: latest status of each agent, by bare JID;
        None: it did not answer."""
        self._agents.statuses = statuses
        return generate_latest(self._registry)


class _AgentCollector:
    """Collector of the agents' states; a replica that has left has no series any more."""

    def __init__(self) -> None:
        self.statuses: Mapping[str, AgentStatus | None] = {}

    def collect(self) -> Iterator[Metric]:
        available = GaugeMetricFamily(
            "spade_llm_agent_available",
            "1 if the agent answered the latest status request.",
            labels=("agent",),
        )
        replicas = GaugeMetricFamily(
            "spade_llm_agent_replicas",
            "Living replicas of the agent; none for an agent that is one process.",
            labels=("agent",),
        )
        conversations = GaugeMetricFamily(
            "spade_llm_replica_conversations",
            "Conversations that the replica holds; of a service, requests in the last minute.",
            labels=("agent", "replica"),
        )
        takeovers = CounterMetricFamily(
            "spade_llm_replica_takeovers",
            "Requests that the replica took over from others since its start.",
            labels=("agent", "replica"),
        )
        # By name: a series must not stand twice.
        states = {jid.partition("@")[0]: status for jid, status in self.statuses.items()}
        for agent, status in states.items():
            available.add_metric((agent,), status is not None)
            if status is None or not status.replicas:
                continue
            replicas.add_metric((agent,), len(status.replicas))
            for one in status.replicas:
                conversations.add_metric((agent, one.name), one.conversations)
                takeovers.add_metric((agent, one.name), one.takeovers)
        yield from (available, replicas, conversations, takeovers)
