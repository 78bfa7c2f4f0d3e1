"""How messages travel and meet their handlers. Knows neither XMPP nor any service."""

from spade_llm.runtime.answer_log import (
    AnswerLog,
    SqliteAnswerLog,
    VolatileAnswerLog,
    fingerprint,
)
from spade_llm.runtime.dispatcher import Dispatcher, Limits, Load
from spade_llm.runtime.gateways import SpeakingFor
from spade_llm.runtime.in_memory import InMemoryNetwork, InMemoryTransport
from spade_llm.runtime.job import Stopped
from spade_llm.runtime.node import Asker, Node
from spade_llm.runtime.recent import Answered
from spade_llm.runtime.requester import Asks, Question, Requester
from spade_llm.runtime.route import Effect, Handler, Request, Route
from spade_llm.runtime.transport import Bounce, Receiver, Send, Transport

__all__ = [
    "AnswerLog",
    "Answered",
    "Asker",
    "Asks",
    "Bounce",
    "Dispatcher",
    "Effect",
    "Handler",
    "InMemoryNetwork",
    "InMemoryTransport",
    "Limits",
    "Load",
    "Node",
    "Question",
    "Receiver",
    "Request",
    "Requester",
    "Route",
    "Send",
    "SpeakingFor",
    "SqliteAnswerLog",
    "Stopped",
    "Transport",
    "VolatileAnswerLog",
    "fingerprint",
]
