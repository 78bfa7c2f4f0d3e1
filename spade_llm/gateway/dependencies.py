"""FastAPI dependencies: the current request and principal, session header."""

from __future__ import annotations

import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar
from urllib.parse import quote, unquote

from fastapi import Depends
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from spade_llm.core.errors import InvalidArguments
from spade_llm.gateway.errors import HttpError, NetworkUnavailable
from spade_llm.gateway.middleware.idempotency import IDEMPOTENCY_KEY, request_wire_id
from spade_llm.gateway.schemas.common import SessionId
from spade_llm.gateway.streaming import cancel_on_disconnect

if TYPE_CHECKING:
    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.gateway.agent_clients import AgentClients
    from spade_llm.gateway.gateway import Gateway
    from spade_llm.gateway.tokens import Principal

T = TypeVar("T")

_SESSION_ID_NAMESPACE = uuid.UUID("2f4b7c0a-54f5-5d0e-9a3c-0d6e0d3c1b57")
"""UUID namespace, drawn once, of session ids that a repeated request must reproduce."""

SESSION_HEADER = "X-Session-ID"
# 128 characters of 4 bytes in UTF-8 are at most 1536 when they are percent-encoded.
SESSION_HEADER_PATTERN = r"^[!-~]{1,1600}$"
_SESSION_ID: TypeAdapter[str] = TypeAdapter(SessionId)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """Request of a principal, with the gateway's state (FastAPI dependency)."""

    gateway: Gateway
    principal: Principal
    request_id: str
    key: str
    """Idempotency-Key; empty: none."""
    request: Request

    @property
    def clients(self) -> AgentClients:
        """Agent clients that act on behalf of the principal. Raises NetworkUnavailable."""
        self.check_network()
        return self.gateway.network.clients_for(self.principal.jid)

    def check_network(self) -> None:
        """Raises NetworkUnavailable."""
        if not self.gateway.is_connected():
            raise NetworkUnavailable

    @property
    def wire_id(self) -> str | None:
        """Id of the request to an agent that must not run twice: equal for equal Idempotency-Keys,
        also after a crash of the gateway. None without a key: then any id will do."""
        return request_wire_id(self.principal.jid, self.key) if self.key else None

    def count_tokens(self, reply: ChatReply) -> None:
        """Add the tokens of an answer to the metrics."""
        self.gateway.metrics.count_tokens(reply.prompt_tokens, reply.completion_tokens)

    def new_session(self) -> str:
        """Id (UUID) of a new session, for a request that names none. A repeated request with the
        same Idempotency-Key gets the same one."""
        known = self.wire_id
        return str(uuid.uuid5(_SESSION_ID_NAMESPACE, known) if known else uuid.uuid4())

    async def run_until_disconnect(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of `work`, and cancel it if the client disconnects first; a pending
        request to an agent is then cancelled there too. With an Idempotency-Key, `work` continues,
        because the client will ask again."""
        if self.key:
            return await work
        return await cancel_on_disconnect(self.request.receive, work)


async def current_request(request: Request) -> ApiRequest:
    """Build the ApiRequest. Raises HttpError (401) for an anonymous request."""
    state = request.scope["state"]
    if state.get("principal") is None:
        raise HttpError(401, "Authorization: send `Bearer TOKEN`")
    return ApiRequest(
        gateway=request.app.state.gateway,
        principal=state["principal"],
        request_id=state["request_id"],
        key=request.headers.get(IDEMPOTENCY_KEY, ""),
        request=request,
    )


CurrentRequest = Annotated[ApiRequest, Depends(current_request)]


async def current_admin_request(api_request: CurrentRequest) -> ApiRequest:
    """Raises HttpError (403) without an admin token."""
    if not api_request.principal.is_admin:
        raise HttpError(
            403, "An admin token is required; create one with `spade-llm token create --admin`"
        )
    return api_request


CurrentAdminRequest = Annotated[ApiRequest, Depends(current_admin_request)]


def encode_session_header(session: str) -> dict[str, str]:
    # A session id may have any letters; header fields are ASCII (RFC 9110 §5.5).
    return {SESSION_HEADER: quote(session, safe="!$&'()*+,:;=@-._~")}


def decode_session_header(value: str | None) -> str | None:
    """Raises InvalidArguments."""
    if value is None:
        return None
    try:
        return _SESSION_ID.validate_python(unquote(value))
    except ValidationError as error:
        raise InvalidArguments(f"{SESSION_HEADER}: {error.errors()[0]['msg']}") from None
