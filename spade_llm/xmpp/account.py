"""What an account on a server of ours may be called. Does not know any server."""

from __future__ import annotations

from spade_llm.errors import ConfigurationError

FORBIDDEN = frozenset("\"&'/:<>@ ")
"""RFC 7622 §3.3.1."""


def account_name(jid: str, password: str, *, domain: str) -> str:
    """Return the part before the @.

    Raises:
        ConfigurationError: not a bare JID of this domain, or a password that no server can take.
    """
    name, _, jid_domain = jid.partition("@")
    if jid_domain != domain:
        raise ConfigurationError(f"{jid!r} is not an address at this server's domain {domain!r}")
    if not name or FORBIDDEN & set(name) or not name.isprintable():
        raise ConfigurationError(f"{name!r} in {jid!r} cannot be the name of an account")
    if not password or not password.isprintable():
        raise ConfigurationError(
            f"the password of {jid!r} is empty or has control characters; give it another"
        )
    return name.lower()
