"""How any request may fail, for the API's description."""

from __future__ import annotations

from typing import Any

_AGAIN = {
    "Retry-After": {"schema": {"type": "string"}, "description": "Seconds.", "required": True}
}
_WHY: dict[int, str] = {
    400: "Something in it is not right, beyond its form: the detail names it.",
    401: "No token, or one that is not known.",
    403: "This may not be done by whoever asks.",
    404: "There is no such thing among what is theirs.",
    408: "The body came too slowly.",
    409: "It cannot be done now, or this Idempotency-Key is of another request.",
    413: "It is larger than what is taken.",
    429: "Too much is going on, or was asked.",
    500: "Ours; the log has it under the X-Request-ID.",
    503: "An agent that is needed, or the XMPP server, is away.",
}


def body_of(*names: str) -> dict[str, Any]:
    """One of these schemas. A model here would be built once for each status of each operation,
    half a second in all; gateway/description.py has them once."""
    schemas = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"application/json": {"schema": schema}}


# FastAPI's own type of it.
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {
        "content": body_of("ErrorDetail"),
        "description": why,
        **({"headers": _AGAIN} if status in (429, 503) else {}),
    }
    for status, why in _WHY.items()
}
