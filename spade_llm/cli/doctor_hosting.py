"""Doctor's checks of a multi-user server: disk, accounts, certificate, DNS, web."""

from __future__ import annotations

import asyncio
import shutil
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli.doctor_checks import Check, CheckState, check_hosted_gateways
from spade_llm.cli.host import PEOPLE_FOLDER
from spade_llm.core.errors import AuthenticationRejected, ConfigurationError, ServerUnreachable
from spade_llm.xmpp.connection.probes import DnsResolver, addresses_of, probe_login, probe_server
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.servers.certificates import dns_names, name_matches
from spade_llm.xmpp.servers.data_directory import AccountPasswords
from spade_llm.xmpp.servers.managed_server import Endpoint

if TYPE_CHECKING:
    from spade_llm.cli.context import CliContext
    from spade_llm.xmpp.connection.probes import ProbeLogin, ServerFacts

MAX_CONCURRENT_LOGINS = 4
NEEDED_BYTES = 200_000
"""A request may have 128 kB, and XML escaping makes it longer."""
SLOW_TRANSFER_S = 2.0
"""Time in seconds above which sending NEEDED_BYTES counts as slow on one's own machine; at Debian's
10 kB/s it takes 20 s."""
LOGIN_TIMEOUT_S = 30.0
MIN_SAMPLES = 3
"""Round trips of which the fastest counts: the others waited for something else."""
FAST_LINK_S = 0.002
"""Round trip in seconds of an empty stanza below which the network does not limit transfers."""
SMALL_READS_S = 0.03
"""Time in seconds for NEEDED_BYTES on a fast link above which the server reads in small pieces.
Prosody's default of 4 KB takes 37 to 58 ms, 64 KB take 10 (0.12.3)."""
MAX_SKEW_S = 10.0
"""Maximum clock skew in seconds: ages of memories, `delay` stamps and token expiry depend on it."""

EXPIRY_WARNING = timedelta(days=14)
CLIENT_PORT = 5222
WEB_TIMEOUT_S = 10.0
PRIVATE_DOMAINS = ("localhost", ".localhost", ".test", ".local", ".internal")
"""Names that no public DNS knows (RFC 6761; RFC 6762 for .local; .internal by ICANN)."""

MIN_FREE_DISK_BYTES = 1_000_000_000
RECOMMENDED_DISK_BYTES = 5_000_000_000
"""The quota of uploads alone."""


async def check_host(cli_context: CliContext, web_url: str | None) -> list[Check]:
    checks = [_disk(cli_context.data), *await check_server(cli_context)]
    async with DnsResolver() as names:
        checks += await check_names(cli_context, names)
    checks += await check_web(cli_context, web_url)
    checks += check_hosted_gateways(cli_context.data)
    failed = {check.name for check in checks if check.state is CheckState.FAILED}
    # Otherwise each account would repeat the failure of the server or its certificate.
    if not failed & {"server", "certificate"}:
        checks += await check_accounts(cli_context)
    return checks


def _disk(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free at {place}"
    mend = "free some space, or move --data: a full disk stops memory, documents and the server"
    if free < MIN_FREE_DISK_BYTES:
        return Check.failed("disk", detail, mend)
    if free < RECOMMENDED_DISK_BYTES:
        return Check.missing("disk", detail, mend)
    return Check.ok("disk", detail)


async def check_server(cli_context: CliContext, now: datetime | None = None) -> list[Check]:
    """Check the server's address, certificate, encryption and registration."""
    host, port, domain, ca = (
        cli_context.host,
        cli_context.port,
        cli_context.domain,
        cli_context.ca,
    )
    try:
        facts = await probe_server(Endpoint(host=host, port=port, domain=domain, ca_path=ca))
    except ServerUnreachable as error:
        mend = "start the server, or name it with --server HOST[:PORT] and --domain D"
        return [Check.failed("server", str(error), mend)]
    checks = [Check.ok("server", f"{domain} at {host}:{port}")]
    if facts.distrust is None:
        issuer = facts.certificate.issuer.rfc4514_string()
        checks.append(Check.ok("certificate", f"trusted, issued by {issuer}"))
    else:
        mend = "name the CA with --ca FILE, and serve the whole chain (fullchain.pem)"
        if ca is not None:
            mend = f"serve a certificate of the CA in {str(ca)!r}, with its whole chain"
        checks.append(Check.failed("certificate", f"not trusted: {facts.distrust}", mend))
    checks.append(_check_expiry(facts, now or datetime.now(UTC)))
    names = dns_names(facts.certificate)
    if name_matches(domain, names):
        checks.append(Check.ok("certificate's names", ", ".join(names)))
    else:
        mend = f"request a certificate for {domain}"
        detail = ", ".join(names) or "none"
        checks.append(Check.failed("certificate's names", detail, mend))
    if facts.requires_tls:
        checks.append(Check.ok("encryption", "required before a login"))
    else:
        mend = "set c2s_require_encryption = true in Prosody's configuration"
        checks.append(Check.failed("encryption", "logins without TLS accepted", mend))
    if not facts.registers_anybody:
        checks.append(Check.ok("registration", "closed: only the operator creates accounts"))
    else:
        mend = "remove register_ibr from modules_enabled, or limit it to invitations"
        detail = "open: anyone may create any number of accounts"
        checks.append(Check.failed("registration", detail, mend))
    return checks


def _check_expiry(facts: ServerFacts, now: datetime) -> Check:
    end = facts.certificate.not_valid_after_utc
    mend = "renew it, then: spade-llm host prepare … and a reload of the server (SIGHUP)"
    if end <= now:
        return Check.failed("certificate's end", f"expired on {end:%Y-%m-%d}", mend)
    if end - now < EXPIRY_WARNING:
        return Check.missing("certificate's end", f"{end:%Y-%m-%d}, soon", mend)
    return Check.ok("certificate's end", f"{end:%Y-%m-%d}")


async def check_names(cli_context: CliContext, names: DnsResolver) -> list[Check]:
    """Check DNS: the server's addresses and SRV records."""
    domain = cli_context.domain
    if domain.endswith(PRIVATE_DOMAINS):
        return [Check.ok("names", f"{domain} is a private name: no DNS needed")]
    targets = await names.targets("xmpp-client", domain)
    if targets:
        listed = ", ".join(f"{one.host}:{one.port}" for one in targets)
        lost = [one.host for one in targets if not await addresses_of(one.host)]
        mend = f"give {', '.join(lost)} an A or AAAA record" if lost else ""
        state = CheckState.FAILED if lost else CheckState.OK
        return [Check("names", state, f"SRV: {listed}", mend)]
    found = await addresses_of(domain)
    record = f"_xmpp-client._tcp.{domain}. SRV 0 5 {cli_context.port} HOST."
    if not found:
        mend = f"add an A or AAAA record for {domain}, or {record}"
        return [Check.failed("names", f"{domain} has no address and no SRV record", mend)]
    if cli_context.port != CLIENT_PORT:
        mend = f"clients try port {CLIENT_PORT} unless there is: {record}"
        return [Check.failed("names", f"no SRV record names port {cli_context.port}", mend)]
    return [Check.ok("names", f"{domain} is {', '.join(found)}; no SRV record needed")]


async def check_web(cli_context: CliContext, url: str | None) -> list[Check]:
    """Open the URL of uploads and web chat, as a browser does."""
    if not url:
        return []
    host = urlsplit(url).hostname or ""
    if not await addresses_of(host):
        mend = f"add {host} to the DNS, or to /etc/hosts of each machine that fetches uploads"
        return [Check.failed("web address", f"{host} cannot be resolved here", mend)]
    tls = tls_context(cli_context.ca)

    def open_websocket() -> str | None:
        try:
            page = f"{url.rstrip('/')}/xmpp-websocket"
            urllib.request.urlopen(page, timeout=WEB_TIMEOUT_S, context=tls).close()
        except urllib.error.HTTPError as error:
            return f"it answers {error.code}"
        except (OSError, ValueError) as error:
            return str(getattr(error, "reason", None) or error)
        return None

    if problem := await asyncio.to_thread(open_websocket):
        mend = f"open port {urlsplit(url).port or 443}, and check that the certificate names {host}"
        return [Check.failed("web address", f"{url}: {problem}", mend)]
    return [Check.ok("web address", f"{url} serves websocket and uploads")]


async def check_accounts(cli_context: CliContext) -> list[Check]:
    """Check the login of each account with a stored password, and the server's clock."""
    # The directory itself, or the folders of a deployment in it.
    data = cli_context.data
    kept = {
        file.name: folder
        for folder in (data, *sorted(path for path in data.glob("*") if path.is_dir()))
        for file in sorted((folder / "accounts").glob("*@*"))
    }
    if not kept:
        mend = "name the deployment's folder, or an agent's, with --data"
        return [Check.failed("accounts", f"no password below {str(data)!r}", mend)]
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_LOGINS)
    found = await asyncio.gather(
        *(_check_account(jid, kept[jid], cli_context, semaphore) for jid in sorted(kept))
    )
    # Each login measures the server: only the worst result is reported.
    measured = [check for _, checks in found for check in checks]
    reported: list[Check] = []
    for name in dict.fromkeys(check.name for check in measured):
        of_name = [check for check in measured if check.name == name]
        reported += ([one for one in of_name if one.state is not CheckState.OK] or of_name)[:1]
    return [*(check for check, _ in found), *reported]


async def _check_account(
    jid: str, data: Path, cli_context: CliContext, semaphore: asyncio.Semaphore
) -> tuple[Check, list[Check]]:
    """Checks of the login, and of the server's clock and reads."""
    accounts = AccountPasswords(data)
    password = accounts.get(jid)
    is_person = data.name == PEOPLE_FOLDER
    async with semaphore:
        try:
            async with probe_login(jid, password, cli_context.connection()) as login:
                clock = check_clock(await login.server_time(), datetime.now(UTC))
                if is_person:
                    return Check.ok(jid, "logs in"), [clock]
                limits = await _check_limits(jid, login)
                if limits.state is not CheckState.OK:
                    return limits, [clock]
                return limits, [clock, *await _check_reads(login)]
        except AuthenticationRejected:
            mend = f"docker/accounts.sh ROOT, or the right password into {accounts.path(jid)}"
            if not is_person:
                return Check.failed(jid, "the server rejects its password", mend), []
            # A person may have changed the first password in a client.
            detail = "the first password is not valid: it was changed, or the account is missing"
            return Check.missing(jid, detail, f"if the account is missing: {mend}"), []
        except ConfigurationError as error:
            return Check.failed(jid, str(error)), []


async def _check_limits(jid: str, login: ProbeLogin) -> Check:
    """Check that the server accepts stanzas of an agent's size, and is fast enough with them."""
    took_s = await login.round_trip_s(NEEDED_BYTES, within_s=LOGIN_TIMEOUT_S)
    size = f"{NEEDED_BYTES // 1000} kB"
    if took_s is None:
        mend = "set c2s_stanza_size_limit = 524288, and add the account to unlimited_jids (Prosody)"
        return Check.failed(jid, f"logs in, but a stanza of {size} is not answered", mend)
    if took_s > SLOW_TRANSFER_S:
        mend = "add the account to unlimited_jids (Prosody), or raise limits.c2s.rate"
        return Check.failed(jid, f"logs in, but {size} take {took_s:.1f} s", mend)
    return Check.ok(jid, f"logs in; {size} take {took_s * 1000:.0f} ms")


async def _check_reads(login: ProbeLogin) -> list[Check]:
    """Check how the server reads long stanzas, if the link is fast enough to tell."""

    async def fastest_s(size_bytes: int) -> float:
        trips = [
            await login.round_trip_s(size_bytes, within_s=LOGIN_TIMEOUT_S)
            for _ in range(MIN_SAMPLES)
        ]
        return min((one for one in trips if one is not None), default=LOGIN_TIMEOUT_S)

    if await fastest_s(0) > FAST_LINK_S:
        return []
    took_s = await fastest_s(NEEDED_BYTES)
    detail = f"{NEEDED_BYTES // 1000} kB take {took_s * 1000:.0f} ms"
    if took_s > SMALL_READS_S:
        mend = "set network_default_read_size = 65536 (Prosody): long answers arrive sooner"
        return [Check.missing("server's reads", detail, mend)]
    return [Check.ok("server's reads", detail)]


def check_clock(server: datetime | None, ours: datetime) -> Check:
    if server is None:
        detail = "the server does not report its time"
        return Check.missing("clock", detail, "enable Prosody's module time")
    skew_s = (server - ours).total_seconds()
    if abs(skew_s) > MAX_SKEW_S:
        detail = f"the server's is {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
        return Check.failed("clock", detail, "set both by NTP (Debian: timedatectl set-ntp true)")
    return Check.ok("clock", f"{abs(skew_s):.1f} s from the server's")
