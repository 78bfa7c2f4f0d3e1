"""The id of a request, and the trace that its work is a part of. Pure.

Without a traceparent of the client's, the trace's id is made of the request's: a request id of 32
hexadecimal digits (a UUID, with or without hyphens; what we make) is the trace id, another one is
hashed to it (SHA-256, the first 16 bytes).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

from spade_llm.tracing import read_trace_parent

MAX_CHARS = 128
_SANE = re.compile(rf"[A-Za-z0-9._:+/=@-]{{1,{MAX_CHARS}}}")
_HEX = re.compile(r"(?!0{32})[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Named:
    request_id: str
    trace_parent: str
    """W3C."""


def name_request(request_id: str, trace_parent: str) -> Named:
    """From the headers X-Request-ID and traceparent; what is not there or not sane is made."""
    parent = read_trace_parent(trace_parent.strip().lower())
    known = request_id if _SANE.fullmatch(request_id) else ""
    if parent:
        return Named(known or parent.split("-")[1], parent)
    known = known or secrets.token_hex(16)
    return Named(known, f"00-{trace_id_of(known)}-{secrets.token_hex(8)}-01")


def trace_id_of(request_id: str) -> str:
    digits = request_id.replace("-", "").lower()
    if _HEX.fullmatch(digits):
        return digits
    return hashlib.sha256(request_id.encode()).hexdigest()[:32]
