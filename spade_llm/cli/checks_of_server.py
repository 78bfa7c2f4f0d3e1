"""What `doctor --host` sees of a server from outside: certificate, registration, names, web."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli.checks import Check, State
from spade_llm.errors import ServerUnreachable
from spade_llm.xmpp.certificates import dns_names
from spade_llm.xmpp.connection import trust
from spade_llm.xmpp.given_certificates import covers
from spade_llm.xmpp.server import Endpoint
from spade_llm.xmpp.server_probe import look_at
from spade_llm.xmpp.srv_records import Names, addresses_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from spade_llm.cli.place import Place
    from spade_llm.xmpp.server_probe import Shown

SOON = timedelta(days=14)
USUAL_PORT = 5222
WEB_TIMEOUT_S = 10.0
OWN_MACHINE = ("localhost", ".localhost", ".test", ".local", ".internal")
"""Names that no public DNS knows (RFC 6761)."""


async def check_server(place: Place, now: datetime | None = None) -> list[Check]:
    endpoint = Endpoint(host=place.host, port=place.port, domain=place.domain, ca_path=place.ca)
    try:
        shown = await look_at(endpoint)
    except ServerUnreachable as error:
        mend = "start the server, or name it with --server HOST[:PORT] and --domain D"
        return [Check("server", State.FAILED, str(error), mend)]
    return [
        Check("server", State.OK, f"{place.domain} at {place.host}:{place.port}"),
        _chain(shown, place),
        _time(shown, now or datetime.now(UTC)),
        _names(shown, place),
        _tls(shown),
        _registration(shown),
    ]


def _chain(shown: Shown, place: Place) -> Check:
    issuer = shown.certificate.issuer.rfc4514_string()
    if shown.distrust is None:
        return Check("certificate", State.OK, f"trusted, issued by {issuer}")
    mend = "name the CA with --ca FILE, and serve the whole chain (fullchain.pem)"
    if place.ca is not None:
        mend = f"serve a certificate of the CA in {str(place.ca)!r}, with its whole chain"
    return Check("certificate", State.FAILED, f"not trusted: {shown.distrust}", mend)


def _time(shown: Shown, now: datetime) -> Check:
    end = shown.certificate.not_valid_after_utc
    mend = "renew it, then: spade-llm host prepare … and a reload of the server (SIGHUP)"
    if end <= now:
        return Check("certificate's end", State.FAILED, f"it ended on {end:%Y-%m-%d}", mend)
    if end - now < SOON:
        return Check("certificate's end", State.MISSING, f"{end:%Y-%m-%d}, soon", mend)
    return Check("certificate's end", State.OK, f"{end:%Y-%m-%d}")


def _names(shown: Shown, place: Place) -> Check:
    named = dns_names(shown.certificate)
    if covers(place.domain, named):
        return Check("certificate's names", State.OK, ", ".join(named))
    mend = f"ask for a certificate with {place.domain}"
    return Check("certificate's names", State.FAILED, ", ".join(named) or "none", mend)


def _tls(shown: Shown) -> Check:
    if shown.requires_tls:
        return Check("encryption", State.OK, "required before a login")
    mend = "c2s_require_encryption = true in Prosody's configuration"
    return Check("encryption", State.FAILED, "a login without TLS is taken", mend)


def _registration(shown: Shown) -> Check:
    if not shown.registers_anybody:
        return Check("registration", State.OK, "closed: accounts are made by whoever hosts")
    mend = "take register_ibr out of modules_enabled, or limit it to invitations"
    return Check("registration", State.FAILED, "anybody may make accounts, any number", mend)


async def check_names(place: Place, names: Names) -> list[Check]:
    """How others find this server: addresses and SRV records."""
    if place.domain.endswith(OWN_MACHINE):
        told = f"{place.domain} is a name for one machine or network: no DNS is asked"
        return [Check("names", State.OK, told)]
    targets = await names.targets("xmpp-client", place.domain)
    if targets:
        told = ", ".join(f"{one.host}:{one.port}" for one in targets)
        lost = [one.host for one in targets if not await addresses_of(one.host)]
        mend = f"give {', '.join(lost)} an A or AAAA record" if lost else ""
        return [Check("names", State.FAILED if lost else State.OK, f"SRV: {told}", mend)]
    return [await _without_srv(place)]


async def _without_srv(place: Place) -> Check:
    found = await addresses_of(place.domain)
    record = f"_xmpp-client._tcp.{place.domain}. SRV 0 5 {place.port} HOST."
    if not found:
        mend = f"an A or AAAA record for {place.domain}, or {record}"
        return Check("names", State.FAILED, f"{place.domain} has no address and no SRV", mend)
    if place.port != USUAL_PORT:
        mend = f"clients try port {USUAL_PORT} unless there is: {record}"
        return Check("names", State.FAILED, f"no SRV record names port {place.port}", mend)
    return Check("names", State.OK, f"{place.domain} is {', '.join(found)}; no SRV record needed")


async def check_web(place: Place, url: str | None) -> list[Check]:
    """The address of uploads and web chat, as a browser would come."""
    if not url:
        return []
    host = urlsplit(url).hostname or ""
    if not await addresses_of(host):
        mend = f"give {host} an address: in the DNS, or in /etc/hosts of whoever fetches uploads"
        return [Check("web address", State.FAILED, f"{host} cannot be resolved here", mend)]
    problem = await asyncio.to_thread(_reach, f"{url.rstrip('/')}/xmpp-websocket", place)
    if problem:
        mend = f"open port {urlsplit(url).port or 443}, and see that the certificate names the host"
        return [Check("web address", State.FAILED, f"{url}: {problem}", mend)]
    return [Check("web address", State.OK, f"{url} serves websocket and uploads")]


def _reach(url: str, place: Place) -> str | None:
    """Why it cannot be used; None if it can."""
    return _tried(lambda: _open(url, trust(place.ca)))


def _open(url: str, context: ssl.SSLContext) -> None:
    urllib.request.urlopen(url, timeout=WEB_TIMEOUT_S, context=context).close()


def _tried(call: Callable[[], None]) -> str | None:
    try:
        call()
    except urllib.error.HTTPError as error:
        return f"it answers {error.code}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", None) or error)
    return None
