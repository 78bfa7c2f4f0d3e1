"""Doctor's checks of a multi-user server: disk, accounts, certificate, DNS, web."""

from __future__ import annotations

import asyncio
import shutil
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli.deployment.hosted import PEOPLE_FOLDER
from spade_llm.cli.doctor_checks import Check, CheckState, check_hosted_gateways
from spade_llm.core.errors import AuthenticationRejected, ConfigurationError, ServerUnreachable
from spade_llm.xmpp.connection.login_probe import probe_login
from spade_llm.xmpp.connection.server_probe import DnsResolver, addresses_of, probe_server
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.servers.certificates import dns_names, name_matches
from spade_llm.xmpp.servers.managed_server import Endpoint
from spade_llm.xmpp.servers.passwords import AccountPasswords

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spade_llm.cli.context import CliContext
    from spade_llm.xmpp.connection.login_probe import ProbeLogin
    from spade_llm.xmpp.connection.server_probe import ServerFacts

MAX_CONCURRENT_LOGINS = 4
NEEDED_BYTES = 200_000
"""A request may have 128 KB, and grows when it is written as XML."""
SLOW_TRANSFER_S = 2.0
"""Time in seconds above which sending NEEDED_BYTES counts as slow on one's own machine; at Debian's
10 kB/s it takes 20 s."""
LOGIN_TIMEOUT_S = 30.0
MAX_SKEW_S = 10.0
"""Maximum clock skew in seconds; above it, ages of memories, `delay` stamps and token expiry go
wrong."""

EXPIRY_WARNING = timedelta(days=14)
CLIENT_PORT = 5222
WEB_TIMEOUT_S = 10.0
PRIVATE_DOMAINS = ("localhost", ".localhost", ".test", ".local", ".internal")
"""Names that no public DNS knows (RFC 6761; RFC 6762 for .local; .internal by ICANN)."""

MIN_FREE_DISK_BYTES = 1_000_000_000
RECOMMENDED_DISK_BYTES = 5_000_000_000
"""The quota of uploads alone."""


async def check_accounts(cli_context: CliContext) -> list[Check]:
    """Check the login of each account that has a password below the data directory."""
    kept = dict(_stored_accounts(cli_context.data))
    if not kept:
        mend = "name the deployment's folder, or an agent's, with --data"
        return [
            Check(
                "accounts", CheckState.FAILED, f"no password below {str(cli_context.data)!r}", mend
            )
        ]
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_LOGINS)
    found = await asyncio.gather(
        *(_check_account(jid, kept[jid], cli_context, semaphore) for jid in sorted(kept))
    )
    return [check for checks in found for check in checks]


def check_clock(server: datetime | None, ours: datetime) -> Check:
    if server is None:
        return Check(
            "clock", CheckState.MISSING, "the server does not tell its time", "module time"
        )
    skew_s = (server - ours).total_seconds()
    if abs(skew_s) > MAX_SKEW_S:
        told = f"the server's is {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
        mend = "set both by NTP (Debian: timedatectl set-ntp true)"
        return Check("clock", CheckState.FAILED, told, mend)
    return Check("clock", CheckState.OK, f"{abs(skew_s):.1f} s from the server's")


async def check_server(cli_context: CliContext, now: datetime | None = None) -> list[Check]:
    endpoint = Endpoint(
        host=cli_context.host,
        port=cli_context.port,
        domain=cli_context.domain,
        ca_path=cli_context.ca,
    )
    try:
        shown = await probe_server(endpoint)
    except ServerUnreachable as error:
        mend = "start the server, or name it with --server HOST[:PORT] and --domain D"
        return [Check("server", CheckState.FAILED, str(error), mend)]
    return [
        Check(
            "server",
            CheckState.OK,
            f"{cli_context.domain} at {cli_context.host}:{cli_context.port}",
        ),
        _check_chain(shown, cli_context),
        _check_expiry(shown, now or datetime.now(UTC)),
        _check_certificate_names(shown, cli_context),
        _check_tls(shown),
        _check_registration(shown),
    ]


async def check_names(cli_context: CliContext, names: DnsResolver) -> list[Check]:
    """Check DNS: the server's addresses and SRV records."""
    if cli_context.domain.endswith(PRIVATE_DOMAINS):
        told = f"{cli_context.domain} is a name for one machine or network: no DNS is asked"
        return [Check("names", CheckState.OK, told)]
    targets = await names.targets("xmpp-client", cli_context.domain)
    if targets:
        told = ", ".join(f"{one.host}:{one.port}" for one in targets)
        lost = [one.host for one in targets if not await addresses_of(one.host)]
        mend = f"give {', '.join(lost)} an A or AAAA record" if lost else ""
        return [Check("names", CheckState.FAILED if lost else CheckState.OK, f"SRV: {told}", mend)]
    return [await _without_srv(cli_context)]


async def check_web(cli_context: CliContext, url: str | None) -> list[Check]:
    """The address of uploads and web chat, as a browser would come."""
    if not url:
        return []
    host = urlsplit(url).hostname or ""
    if not await addresses_of(host):
        mend = f"give {host} an address: in the DNS, or in /etc/hosts of whoever fetches uploads"
        return [Check("web address", CheckState.FAILED, f"{host} cannot be resolved here", mend)]
    problem = await asyncio.to_thread(
        _web_problem, f"{url.rstrip('/')}/xmpp-websocket", cli_context
    )
    if problem:
        mend = f"open port {urlsplit(url).port or 443}, and see that the certificate names the host"
        return [Check("web address", CheckState.FAILED, f"{url}: {problem}", mend)]
    return [Check("web address", CheckState.OK, f"{url} serves websocket and uploads")]


async def check_host(cli_context: CliContext, web_url: str | None) -> list[Check]:
    checks = [_disk(cli_context.data), *await check_server(cli_context)]
    async with DnsResolver() as names:
        checks += await check_names(cli_context, names)
    checks += await check_web(cli_context, web_url)
    checks += check_hosted_gateways(cli_context.data)
    # Otherwise each account would repeat the one failure.
    if not _blocks_logins(checks):
        checks += _worst_clock_check(await check_accounts(cli_context))
    return checks


def _stored_accounts(data: Path) -> Iterator[tuple[str, Path]]:
    """JID → the data directory that has its password: this one, or those of a deployment in it."""
    for folder in (data, *sorted(path for path in data.glob("*") if path.is_dir())):
        for file in sorted((folder / "accounts").glob("*@*")):
            yield file.name, folder


async def _check_account(
    jid: str, data: Path, cli_context: CliContext, gate: asyncio.Semaphore
) -> list[Check]:
    password = AccountPasswords(data).get(jid)
    is_person = data.name == PEOPLE_FOLDER
    async with gate:
        try:
            async with probe_login(jid, password, cli_context.connection()) as visit:
                return await _check_login(jid, visit, is_person=is_person)
        except AuthenticationRejected:
            return [_login_rejected(jid, AccountPasswords(data).path(jid), is_person=is_person)]
        except ConfigurationError as error:
            return [Check(jid, CheckState.FAILED, str(error))]


def _login_rejected(jid: str, file: Path, *, is_person: bool) -> Check:
    """A person may have changed the first password in a client; an agent's must be the kept one."""
    mend = f"docker/accounts.sh ROOT, or the right password into {file}"
    if is_person:
        told = "the first password is not valid: changed by its owner, or the account is missing"
        return Check(jid, CheckState.MISSING, told, f"if the account is missing: {mend}")
    return Check(jid, CheckState.FAILED, "the server refuses its password", mend)


async def _check_login(jid: str, visit: ProbeLogin, *, is_person: bool) -> list[Check]:
    clock = check_clock(await visit.server_time(), datetime.now(UTC))
    if is_person:
        return [Check(jid, CheckState.OK, "logs in"), clock]
    return [await _limits(jid, visit), clock]


async def _limits(jid: str, visit: ProbeLogin) -> Check:
    took_s = await visit.round_trip_s(NEEDED_BYTES, within_s=LOGIN_TIMEOUT_S)
    size = f"{NEEDED_BYTES // 1000} kB"
    if took_s is None:
        mend = "c2s_stanza_size_limit = 524288, and the account into unlimited_jids (Prosody)"
        return Check(
            jid, CheckState.FAILED, f"logs in, but a stanza of {size} is not answered", mend
        )
    if took_s > SLOW_TRANSFER_S:
        mend = "put the account into unlimited_jids (Prosody), or raise limits.c2s.rate"
        return Check(jid, CheckState.FAILED, f"logs in, but {size} take {took_s:.1f} s", mend)
    return Check(jid, CheckState.OK, f"logs in; {size} take {took_s * 1000:.0f} ms")


def _check_chain(shown: ServerFacts, cli_context: CliContext) -> Check:
    issuer = shown.certificate.issuer.rfc4514_string()
    if shown.distrust is None:
        return Check("certificate", CheckState.OK, f"trusted, issued by {issuer}")
    mend = "name the CA with --ca FILE, and serve the whole chain (fullchain.pem)"
    if cli_context.ca is not None:
        mend = f"serve a certificate of the CA in {str(cli_context.ca)!r}, with its whole chain"
    return Check("certificate", CheckState.FAILED, f"not trusted: {shown.distrust}", mend)


def _check_expiry(shown: ServerFacts, now: datetime) -> Check:
    end = shown.certificate.not_valid_after_utc
    mend = "renew it, then: spade-llm host prepare … and a reload of the server (SIGHUP)"
    if end <= now:
        return Check("certificate's end", CheckState.FAILED, f"it ended on {end:%Y-%m-%d}", mend)
    if end - now < EXPIRY_WARNING:
        return Check("certificate's end", CheckState.MISSING, f"{end:%Y-%m-%d}, soon", mend)
    return Check("certificate's end", CheckState.OK, f"{end:%Y-%m-%d}")


def _check_certificate_names(shown: ServerFacts, cli_context: CliContext) -> Check:
    named = dns_names(shown.certificate)
    if name_matches(cli_context.domain, named):
        return Check("certificate's names", CheckState.OK, ", ".join(named))
    mend = f"ask for a certificate with {cli_context.domain}"
    return Check("certificate's names", CheckState.FAILED, ", ".join(named) or "none", mend)


def _check_tls(shown: ServerFacts) -> Check:
    if shown.requires_tls:
        return Check("encryption", CheckState.OK, "required before a login")
    mend = "c2s_require_encryption = true in Prosody's configuration"
    return Check("encryption", CheckState.FAILED, "a login without TLS is taken", mend)


def _check_registration(shown: ServerFacts) -> Check:
    if not shown.registers_anybody:
        return Check("registration", CheckState.OK, "closed: accounts are made by whoever hosts")
    mend = "take register_ibr out of modules_enabled, or limit it to invitations"
    return Check("registration", CheckState.FAILED, "anybody may make accounts, any number", mend)


async def _without_srv(cli_context: CliContext) -> Check:
    found = await addresses_of(cli_context.domain)
    record = f"_xmpp-client._tcp.{cli_context.domain}. SRV 0 5 {cli_context.port} HOST."
    if not found:
        mend = f"an A or AAAA record for {cli_context.domain}, or {record}"
        return Check(
            "names", CheckState.FAILED, f"{cli_context.domain} has no address and no SRV", mend
        )
    if cli_context.port != CLIENT_PORT:
        mend = f"clients try port {CLIENT_PORT} unless there is: {record}"
        return Check(
            "names", CheckState.FAILED, f"no SRV record names port {cli_context.port}", mend
        )
    return Check(
        "names", CheckState.OK, f"{cli_context.domain} is {', '.join(found)}; no SRV record needed"
    )


def _web_problem(url: str, cli_context: CliContext) -> str | None:
    """Reason that the URL cannot be opened; None if it can."""
    return _error_text(lambda: _open(url, tls_context(cli_context.ca)))


def _open(url: str, context: ssl.SSLContext) -> None:
    urllib.request.urlopen(url, timeout=WEB_TIMEOUT_S, context=context).close()


def _error_text(call: Callable[[], None]) -> str | None:
    try:
        call()
    except urllib.error.HTTPError as error:
        return f"it answers {error.code}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", None) or error)
    return None


def _blocks_logins(checks: list[Check]) -> bool:
    """True if a reported failure (server, certificate) makes every login fail."""
    failed = {check.name for check in checks if check.state is CheckState.FAILED}
    return bool(failed & {"server", "certificate"})


def _disk(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    told = f"{free / 1e9:.1f} GB free at {place}"
    mend = "make room, or move --data: a full disk stops memory, documents and the server"
    if free < MIN_FREE_DISK_BYTES:
        return Check("disk", CheckState.FAILED, told, mend)
    if free < RECOMMENDED_DISK_BYTES:
        return Check("disk", CheckState.MISSING, told, mend)
    return Check("disk", CheckState.OK, told)


def _worst_clock_check(checks: list[Check]) -> list[Check]:
    """The clock is looked at by each account; it is said once, the worst of them."""
    clocks = [check for check in checks if check.name == "clock"]
    others = [check for check in checks if check.name != "clock"]
    worst = next(
        (one for one in clocks if one.state is not CheckState.OK), clocks[0] if clocks else None
    )
    return [*others, *([worst] if worst else [])]
