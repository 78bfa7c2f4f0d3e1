"""Prosody configuration file: a private instance, a hosted one, and federation.

A federation of private instances connects to its configured peers only, without DNS.

Valid for Prosody 0.12 and 13.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.managed_server import STANZA_LIMIT_BYTES, UPLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.certificates import Certificates, KeyPair

PLUGIN_FOLDER = "prosody_modules"
"""The folder, beside this file, of what we add to Prosody."""
PEERS_MODULE = "spade_llm_peers"

MODULES = (
    "blocklist",
    "bookmarks",
    "carbons",
    "csi_simple",
    "disco",
    "limits",
    "offline",
    "pep",
    "ping",
    "posix",
    "private",
    "roster",
    "saslauth",
    "smacks",
    "time",
    "tls",
    "vcard4",
    "vcard_legacy",
    "version",
)
"""No `mam`: a chat message costs twice the server's time with it (0.6 to 1.2 ms), and one between
agents 5 to 10 % though it is not archived; what an agent misses is in the offline store.
No `register_ibr`: accounts are made by `create_account` only. `posix` is built in since 13."""

HOSTED_MODULES = ("admin_shell", "mam", "tombstones", "user_account_management", "websocket")
"""Modules of a server for people. `tombstones`: a deleted address cannot be registered again, as
its new owner could read what agents remember of the previous one. `user_account_management`:
logged-in users change their password or delete their account in-band (XEP-0077); it registers no
new accounts."""
SERVER_TO_SERVER = ("s2s", "s2s_auth_certs")

HIBERNATION_S = 60
"""Time in seconds that a session without a connection is kept (XEP-0198). A killed agent seems to
be online for so long. A client that reconnects later misses nothing: its messages are stored."""
UPLOAD_QUOTA_BYTES = 5_000_000_000
"""Maximum total size of all uploads that have not expired, in bytes."""
DAY_S = 86_400
"""TTL in seconds of uploads on a private server: documents are fetched right after the upload."""

CONFIG_TEMPLATE = """\
-- Written by spade-llm; changes made here are lost.
{run_as_root}data_path = {data_path}
pidfile = {pid_path}
log = {log}
certificates = {certificates_path}

interfaces = {{ {addresses} }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ }}
-- Without this a stanza that follows another one waits up to 40 ms for the client's delayed ACK.
-- Not opportunistic_writes: a write to a closed TLS connection while Prosody stops never returns
-- (0.12.3, LuaSec: SSL_write fails without an errno, and is called again for ever).
network_settings = {{ nagle = false }}
-- Prosody reads 4 KB at once by default, and waits for a millisecond or more after each full read.
network_default_read_size = 65536
-- Halves the processor time of a message (0.52 to 0.27 ms per round trip; Prosody 0.12, Lua 5.4).
-- Older Lua has no such mode: Prosody says so in its log and goes on as it was.
gc = {{ mode = "generational" }}
http_ports = {{ }}
https_ports = {{ {https_port} }}
https_ssl = {{ key = {key_path}, certificate = {cert_path} }}

modules_enabled = {{ {modules} }}
{federation}

authentication = "internal_hashed"
storage = "internal"
c2s_require_encryption = true
allow_unencrypted_plain_auth = false
c2s_stanza_size_limit = {stanza_limit}
limits = {{ c2s = {{ rate = {rate}, burst = "5s" }}, s2sin = {{ rate = {server_rate} }} }}
smacks_hibernation_time = {hibernation}
-- Agents acknowledge within a second by themselves. Asked after each stanza (the default) a request
-- between agents costs 70 % more processor time, on both sides (0.12).
smacks_max_unacked_stanzas = 10
unlimited_jids = {{ {service_jids} }}
{hosting}
VirtualHost {domain}
    ssl = {{ key = {key_path}, certificate = {cert_path}{server_trust} }}
    http_host = {http_host}

Component {conference} "muc"
    ssl = {{ key = {key_path}, certificate = {cert_path}{server_trust} }}
    restrict_room_creation = "local"
    muc_room_locking = false

Component {uploads} "http_file_share"
    -- A name that every machine knows; clients are told it in the addresses of uploads.
    http_host = {http_host}
    http_file_share_size_limit = {upload_limit}
    http_file_share_daily_quota = {upload_quota}
    http_file_share_global_quota = {upload_quota}
    http_file_share_expires_after = {upload_expiry}
"""

FEDERATION_TEMPLATE = """\
s2s_ports = {{ {port} }}
s2s_interfaces = {{ {address} }}
s2s_direct_tls_ports = {{ }}
s2s_require_encryption = true
s2s_secure_auth = true
s2s_stanza_size_limit = {stanza_limit}
ssl = {{ cafile = {ca_path} }}
plugin_paths = {{ {plugins} }}
{peers_option} = {{ {peers} }}"""

PLUGINS_PATH = Path(__file__).parent / PLUGIN_FOLDER

HOSTING_TEMPLATE = """
admins = {{ {admins} }}
archive_expires_after = "{archive_days}d"
http_external_url = {web_url}
-- Whatever name a browser came by: there is one site.
http_default_host = {http_host}
http_paths = {{ files = "/chat" }}
{web_chat}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerServer:
    """Server of another domain."""

    host: str
    """An IP address."""
    port: int
    ca_path: Path
    """CA file that verifies the server's certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """Servers talk to each other over TLS only, and each proves its domain by its certificate."""

    address: str = "127.0.0.1"
    port: int
    """Port for connections from other servers."""
    peers: Mapping[str, PeerServer]
    """Peer servers by domain. Subdomains (`conference.`) are reached at the same address."""


def trusted_cas(own_ca: Path, federation: Federation) -> str:
    """The PEM of every CA that a server's certificate may come from.

    Raises:
        ConfigurationError: a CA's file cannot be read.
    """
    paths = dict.fromkeys([own_ca, *(peer.ca_path for peer in federation.peers.values())])
    return "\n".join(_read_ca(path) for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingOptions:
    """Options of an instance that people and other servers reach from outside."""

    web_url: str
    """Public URL of uploads, websocket and web chat: `https://HOST:PORT`."""
    admins: tuple[str, ...] = ()
    """Bare JIDs: rooms of others, and `prosodyctl shell`'s commands."""
    federation_port: int | None = None
    """Port for connections from other servers; None: no federation."""
    archive_days: int = 30
    """TTL in days of archived messages and uploads, which people's other devices fetch."""
    people_rate: str = "128kb/s"
    """Rate limit of a client connection; the JIDs of services are exempt."""
    web_chat: Path | None = None
    """Folder of the pages below /chat; None: no web chat."""


def prosody_config(
    directory: Path,
    certificates: Certificates | KeyPair,
    *,
    domain: str,
    port: int,
    upload_port: int,
    addresses: Iterable[str],
    service_jids: Iterable[str],
    hosting: HostingOptions | None = None,
    federation: Federation | None = None,
    has_archive: bool = False,
) -> str:
    """Return the configuration file of an instance that keeps everything in `directory`."""
    host = hosting.web_url if hosting else "https://localhost"
    modules: tuple[str, ...] = MODULES
    if hosting:
        modules += HOSTED_MODULES + (("http_files",) if hosting.web_chat else ())
        modules += SERVER_TO_SERVER if hosting.federation_port else ()
    modules += (PEERS_MODULE,) if federation else ()
    modules += ("mam",) if has_archive else ()
    return CONFIG_TEMPLATE.format(
        # Prosody refuses to run as root without it.
        run_as_root="run_as_root = true\n" if os.getuid() == 0 else "",
        data_path=_lua(directory / "data"),
        pid_path=_lua(directory / "prosody.pid"),
        log=_log(directory, hosting),
        certificates_path=_lua(certificates.cert_path.parent),
        addresses=_lua_list(addresses),
        port=port,
        modules=_lua_list(modules),
        federation=_federated(directory, federation) if federation else _federation(hosting),
        server_trust=f", cafile = {_lua(trust_path(directory))}" if federation else "",
        server_rate=_lua("2mb/s" if federation else "256kb/s"),
        # Debian's default, 10 kB/s, would delay agents without any error.
        rate=_lua(hosting.people_rate if hosting else "2mb/s"),
        hosting=_hosting(hosting),
        http_host=_lua(urlsplit(host).hostname or domain),
        stanza_limit=STANZA_LIMIT_BYTES,
        hibernation=HIBERNATION_S,
        service_jids=_lua_list(service_jids),
        domain=_lua(domain),
        conference=_lua(f"conference.{domain}"),
        uploads=_lua(f"upload.{domain}"),
        https_port=upload_port,
        upload_limit=UPLOAD_LIMIT_BYTES,
        upload_quota=UPLOAD_QUOTA_BYTES,
        upload_expiry=hosting.archive_days * DAY_S if hosting else DAY_S,
        key_path=_lua(certificates.key_path),
        cert_path=_lua(certificates.cert_path),
    )


def trust_path(directory: Path) -> Path:
    """Return the path of the CA file that verifies the servers of a federation."""
    return directory / "servers-ca.pem"


def _log(directory: Path, hosting: HostingOptions | None) -> str:
    """Return the log settings; a hosted instance logs to the console for systemd and Docker."""
    if hosting:
        return '{ { levels = { min = "info" }, to = "console", timestamps = false } }'
    path = _lua(directory / "server.log")
    return f'{{ {{ levels = {{ min = "info" }}, to = "file", filename = {path} }} }}'


def _read_ca(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the CA file {str(path)!r} of another server cannot be read ({error})"
        ) from None


def _federation(hosting: HostingOptions | None) -> str:
    """Other servers prove their names by certificates, not by dialback."""
    if hosting is None or hosting.federation_port is None:
        # Prosody loads these modules unless they are disabled by name.
        return f"s2s_ports = {{ }}\nmodules_disabled = {{ {_lua_list(SERVER_TO_SERVER)} }}"
    port = hosting.federation_port
    return f"s2s_ports = {{ {port} }}\ns2s_require_encryption = true\ns2s_secure_auth = true"


def _federated(directory: Path, federation: Federation) -> str:
    peers = (
        f"[{_lua(domain)}] = {{ host = {_lua(peer.host)}, port = {peer.port} }}"
        for domain, peer in federation.peers.items()
    )
    return FEDERATION_TEMPLATE.format(
        port=federation.port,
        address=_lua(federation.address),
        stanza_limit=STANZA_LIMIT_BYTES,
        ca_path=_lua(trust_path(directory)),
        plugins=_lua(PLUGINS_PATH),
        peers_option=PEERS_MODULE,
        peers=", ".join(peers),
    )


def _hosting(hosting: HostingOptions | None) -> str:
    if hosting is None:
        return ""
    pages = f"http_files_dir = {_lua(hosting.web_chat)}\n" if hosting.web_chat else ""
    return HOSTING_TEMPLATE.format(
        admins=_lua_list(hosting.admins),
        archive_days=hosting.archive_days,
        web_url=_lua(hosting.web_url.rstrip("/") + "/"),
        http_host=_lua(urlsplit(hosting.web_url).hostname or ""),
        web_chat=pages,
    )


def _lua_list(values: Iterable[str]) -> str:
    return ", ".join(_lua(value) for value in values)


def _lua(value: str | Path) -> str:
    """A Lua string that means exactly this text."""
    # Unescaped, a quotation mark in a path or domain could add settings.
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
