"""Whether a text is a JID (RFC 7622). Knows no stream."""

from __future__ import annotations

from functools import lru_cache

from slixmpp import JID, InvalidJID

KNOWN = 4096


@lru_cache(KNOWN)
def is_jid(text: str) -> bool:
    try:
        return bool(JID(text).domain)
    except InvalidJID:
        return False
