"""What agents say (agent communication language): one message type and its typed bodies."""

from spade_llm.acl.body import (
    MAX_BODY_BYTES,
    Body,
    Empty,
    ErrorBody,
    RequestBody,
    glimpse_op,
    read_request,
)
from spade_llm.acl.message import (
    CHAT_TEXT,
    CHAT_TYPE,
    FOR_MODELS,
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
from spade_llm.acl.said import NOTHING_SAID, Said

__all__ = [
    "CHAT_TEXT",
    "CHAT_TYPE",
    "FOR_MODELS",
    "MAX_BODY_BYTES",
    "MESSAGE_TYPE",
    "NOTHING_SAID",
    "PRINCIPAL",
    "TERMINAL",
    "AclMessage",
    "Body",
    "Empty",
    "Encoding",
    "ErrorBody",
    "Performative",
    "RequestBody",
    "Said",
    "bare",
    "from_metadata",
    "glimpse_op",
    "new_id",
    "read_request",
    "to_metadata",
]
