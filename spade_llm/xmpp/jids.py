"""Validity and normal form of JIDs (RFC 7622). Knows no stream."""

from __future__ import annotations

from functools import lru_cache

from slixmpp import JID, InvalidJID

from spade_llm.errors import ConfigurationError

KNOWN = 4096


@lru_cache(KNOWN)
def is_jid(text: str) -> bool:
    try:
        return bool(JID(text).domain)
    except InvalidJID:
        return False


def bare_jid(text: str) -> str:
    """Normal form of a bare JID: prepared as servers do (case, Unicode), without outer whitespace.

    Raises:
        ConfigurationError: the text is not a bare JID.
    """
    try:
        jid = JID(text.strip())
    except InvalidJID as error:
        raise ConfigurationError(f"{text!r} is not a bare JID ({error})") from None
    if not jid.local or "/" in text:
        raise ConfigurationError(f"{text!r} is not a bare JID: write name@domain")
    return str(jid.bare)
