"""JIDs (RFC 7622): validation, normal form, account names, and a persistent resource.

A server with stream management keeps the session of a killed process for a while, and with it the
messages for the account. A login with the same resource ends that session, and its messages are
delivered (RFC 6120 §7.7.2.2, XEP-0198 §5). So the resource is stored in the data folder; without a
folder each start takes a new one.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from pathlib import Path

from slixmpp import JID, InvalidJID

from spade_llm.core.arguments import check_type
from spade_llm.core.errors import ConfigurationError

KNOWN = 4096
_RESOURCE = re.compile(r"llm-[0-9a-f]{8}")


@lru_cache(KNOWN)
def is_jid(text: str) -> bool:
    """True if the text is a valid JID (cached)."""
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


def check_agent_jid(jid: object, *, of: str) -> None:
    """Raises TypeError or ConfigurationError unless it is the JID of an account. `of` names the
    argument."""
    check_type(jid, str, of=of, fix="give a JID, name@domain")
    # Agents are accounts: a JID without a name is that of a server.
    if not (is_jid(jid) and JID(jid).local):
        raise ConfigurationError(
            f"{of} is {jid!r}, which is not the JID of an agent: write name@domain"
        )


def local_part(jid: str, *, domain: str) -> str:
    """Return the part before the @, in its normal form.

    Raises:
        ConfigurationError: not a bare JID of this domain.
    """
    name, _, jid_domain = bare_jid(jid).partition("@")
    if jid_domain != domain.lower():
        raise ConfigurationError(f"{jid!r} is not an address at this server's domain {domain!r}")
    return name


def account_name(jid: str, password: str, *, domain: str) -> str:
    """Return the local part of an account to be made.

    Raises:
        ConfigurationError: not a bare JID of this domain, or a password that no server can take.
    """
    name = local_part(jid, domain=domain)
    if not password or not password.isprintable():
        raise ConfigurationError(
            f"the password of {jid!r} is empty or has control characters; give it another"
        )
    return name


def resource_of(data: Path | None, name: str) -> str:
    """Return the stored resource of an account, or store a new one.

    Raises:
        ConfigurationError: the folder cannot be read or written.
    """
    if data is None:
        return _new_resource()
    path = data / f"resource-{name}"
    try:
        known = path.read_text("ascii", errors="replace").strip() if path.exists() else ""
        # A kill while the file is written leaves it empty or cut.
        if not _RESOURCE.fullmatch(known):
            path.write_text(known := _new_resource(), "ascii")
    except OSError as error:
        raise ConfigurationError(
            f"{str(path)!r} cannot be read or written ({error.strerror}): check who owns the folder"
        ) from error
    return known


def _new_resource() -> str:
    return f"llm-{secrets.token_hex(4)}"
