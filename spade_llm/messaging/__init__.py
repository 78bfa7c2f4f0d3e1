"""Agent messages (FIPA ACL): message type, performatives and typed JSON bodies."""

from spade_llm.messaging.body import (
    MAX_BODY_BYTES,
    Body,
    Empty,
    ErrorBody,
    RequestBody,
    peek_op,
    read_request,
)
from spade_llm.messaging.chat_metadata import NO_CHAT_METADATA, ChatMetadata
from spade_llm.messaging.message import (
    CHAT_TEXT,
    CHAT_TYPE,
    FOR_MODELS_METADATA,
    MESSAGE_TYPE,
    PRINCIPAL,
    TERMINAL,
    AclMessage,
    Encoding,
    Performative,
    bare,
    from_metadata,
    new_id,
    to_metadata,
)

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
    "Body",
    "ChatMetadata",
    "Empty",
    "Encoding",
    "ErrorBody",
    "Performative",
    "RequestBody",
    "bare",
    "from_metadata",
    "new_id",
    "peek_op",
    "read_request",
    "to_metadata",
]
