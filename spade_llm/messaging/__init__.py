"""Messaging between agents: ACL messages, dispatcher, requester, answer log and transports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.messaging.answer_log import (
        AnswerLog,
        PersistentAnswerLog,
        VolatileAnswerLog,
        fingerprint,
    )
    from spade_llm.messaging.body import (
        MAX_BODY_BYTES,
        Body,
        Empty,
        ErrorBody,
        RequestBody,
        peek_op,
        read_request,
    )
    from spade_llm.messaging.dispatcher import Dispatcher, DispatcherLimits, DispatcherLoad
    from spade_llm.messaging.message import (
        CHAT_TEXT,
        CHAT_TYPE,
        FOR_MODELS_METADATA,
        MESSAGE_TYPE,
        NO_CHAT_METADATA,
        PRINCIPAL,
        TERMINAL,
        AclMessage,
        ChatMetadata,
        Encoding,
        Performative,
        bare,
        from_metadata,
        new_id,
        to_metadata,
    )
    from spade_llm.messaging.request import (
        HandledRequest,
        Handler,
        Idempotency,
        Request,
        Route,
        StoppedRequests,
    )
    from spade_llm.messaging.requester import (
        Node,
        OutgoingRequest,
        PrincipalRequester,
        ReplyListener,
        Requester,
        RequestSender,
    )
    from spade_llm.messaging.transport import (
        Bounce,
        InMemoryNetwork,
        InMemoryTransport,
        Receiver,
        Send,
        Transport,
    )
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "CHAT_TEXT",
    "CHAT_TYPE",
    "FOR_MODELS_METADATA",
    "MAX_BODY_BYTES",
    "MESSAGE_TYPE",
    "NO_CHAT_METADATA",
    "PRINCIPAL",
    "TERMINAL",
    "AclMessage",
    "AnswerLog",
    "Body",
    "Bounce",
    "ChatMetadata",
    "Dispatcher",
    "DispatcherLimits",
    "DispatcherLoad",
    "Empty",
    "Encoding",
    "ErrorBody",
    "HandledRequest",
    "Handler",
    "Idempotency",
    "InMemoryNetwork",
    "InMemoryTransport",
    "Node",
    "OutgoingRequest",
    "Performative",
    "PersistentAnswerLog",
    "PrincipalRequester",
    "Receiver",
    "ReplyListener",
    "Request",
    "RequestBody",
    "RequestSender",
    "Requester",
    "Route",
    "Send",
    "StoppedRequests",
    "Transport",
    "VolatileAnswerLog",
    "bare",
    "fingerprint",
    "from_metadata",
    "new_id",
    "peek_op",
    "read_request",
    "to_metadata",
]
