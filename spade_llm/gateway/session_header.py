"""A session's id as a header: those beyond ASCII are percent-encoded (RFC 3986 §2.1). Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

from pydantic import TypeAdapter, ValidationError

from spade_llm.errors import InvalidArguments
from spade_llm.gateway.bodies.common import SessionId

SESSION = "X-Session-ID"
HEADER_PATTERN = r"^[!-~]{1,1600}$"
_SESSION_ID: TypeAdapter[str] = TypeAdapter(SessionId)


def session_header(session: str) -> dict[str, str]:
    return {SESSION: quote(session, safe="!$&'()*+,:;=@-._~")}


def read_session_header(said: str | None) -> str | None:
    """Raises InvalidArguments."""
    if said is None:
        return None
    try:
        return _SESSION_ID.validate_python(unquote(said))
    except ValidationError as error:
        raise InvalidArguments(f"{SESSION}: {error.errors()[0]['msg']}") from None
