"""What an account on a server of ours may be called. Does not know any server."""

from __future__ import annotations

from spade_llm.errors import ConfigurationError
from spade_llm.xmpp.jids import bare_jid


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
