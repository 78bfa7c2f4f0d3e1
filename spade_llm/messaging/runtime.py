"""Facade of the messaging runtime: dispatcher, requester, routes, transports, answer log."""

from spade_llm.messaging.answer_log import (
    AnswerLog,
    SqliteAnswerLog,
    VolatileAnswerLog,
    fingerprint,
)
from spade_llm.messaging.dispatcher import Dispatcher, DispatcherLimits, DispatcherLoad
from spade_llm.messaging.node import Node, ReplyListener
from spade_llm.messaging.principals import PrincipalRequester
from spade_llm.messaging.request import Handler, Idempotency, Request, Route, StoppedRequests
from spade_llm.messaging.request_history import HandledRequest
from spade_llm.messaging.requester import OutgoingRequest, Requester, RequestSender
from spade_llm.messaging.transport import (
    Bounce,
    InMemoryNetwork,
    InMemoryTransport,
    Receiver,
    Send,
    Transport,
)

__all__ = [
    "AnswerLog",
    "Bounce",
    "Dispatcher",
    "DispatcherLimits",
    "DispatcherLoad",
    "HandledRequest",
    "Handler",
    "Idempotency",
    "InMemoryNetwork",
    "InMemoryTransport",
    "Node",
    "OutgoingRequest",
    "PrincipalRequester",
    "Receiver",
    "ReplyListener",
    "Request",
    "RequestSender",
    "Requester",
    "Route",
    "Send",
    "SqliteAnswerLog",
    "StoppedRequests",
    "Transport",
    "VolatileAnswerLog",
    "fingerprint",
]
