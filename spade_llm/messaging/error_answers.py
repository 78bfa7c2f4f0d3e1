"""Error answers: translation between exceptions and refuse, failure or not-understood messages."""

from __future__ import annotations

from spade_llm.core.errors import (
    ModelError,
    PeerUnavailable,
    ProtocolError,
    RateLimited,
    Refusal,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
    ServiceError,
    SpadeLLMError,
)
from spade_llm.messaging import CHAT_TEXT, AclMessage, ErrorBody, Performative, bare
from spade_llm.messaging.body import MAX_DETAIL

ERROR_BY_PERFORMATIVE = {
    Performative.REFUSE: RequestRefused,
    Performative.FAILURE: RequestFailed,
    Performative.NOT_UNDERSTOOD: RequestNotUnderstood,
}

_PUBLIC_DETAIL = "something went wrong here; it has been logged"


def error_answer(request: AclMessage, error: SpadeLLMError) -> AclMessage:
    """The answer to a request that failed; the error's family decides the performative."""
    return request.reply(_performative(error), error_content(request, error))


def error_content(message: AclMessage, error: SpadeLLMError) -> str:
    """Content of an error answer: a plain sentence in a chat, else an ErrorBody.

    Only errors that are written for peers show their text.
    """
    if isinstance(error, ModelError):
        detail = error.told
    else:
        is_public = isinstance(error, ServiceError | ProtocolError)
        detail = str(error) if is_public else _PUBLIC_DETAIL
    # Bounded, and text in any encoding: an error must never fail to be answered.
    detail = detail[:MAX_DETAIL].encode(errors="replace").decode()
    if message.ontology == CHAT_TEXT:
        return detail
    retry_after_s = error.retry_after if isinstance(error, RateLimited) else None
    return ErrorBody(code=error.code, detail=detail, retry_after_s=retry_after_s).encode()


def _performative(error: SpadeLLMError) -> Performative:
    if isinstance(error, ProtocolError):
        return Performative.NOT_UNDERSTOOD
    return Performative.REFUSE if isinstance(error, Refusal) else Performative.FAILURE


def is_error_source(jid: str, peer: str) -> bool:
    """Errors come from the peer's address, from its server, or (no address) from our own server."""
    # Otherwise anybody could end our requests with a forged error.
    return bare(jid) in ("", bare(peer), bare(peer).rpartition("@")[2])


def unsendable_error(message: AclMessage, error: ProtocolError) -> RequestRefused:
    return RequestRefused(
        str(error),
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=error.code,
    )


def unavailable_error(message: AclMessage, condition: str) -> PeerUnavailable:
    return PeerUnavailable(
        f"{message.receiver} cannot be reached: {condition}",
        peer=message.receiver,
        conversation_id=message.conversation_id,
        wire_code=condition,
    )
