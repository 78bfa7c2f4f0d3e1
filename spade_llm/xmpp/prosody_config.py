"""The configuration of a private Prosody, as text. Does not start it. Valid for 0.12 and 13."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spade_llm.xmpp.server import STANZA_LIMIT_BYTES, UPLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from spade_llm.xmpp.certificates import Certificates

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
"""No `mam`: the archive costs 97 % of the throughput, and memory is our agents' work.
No `register_ibr`: accounts are made by `create_account` only. `posix` is built in since 13."""

UPLOAD_QUOTA_BYTES = 5_000_000_000
"""Of all uploads that have not expired."""
UPLOAD_EXPIRY_S = 86_400
"""Documents are fetched as soon as they are up."""

TEMPLATE = """\
-- Written by spade-llm at every start; changes made here are lost.
{run_as_root}data_path = {data_path}
pidfile = {pid_path}
log = {{ {{ levels = {{ min = "info" }}, to = "file", filename = {log_path} }} }}
certificates = {certificates_path}

interfaces = {{ {addresses} }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ }}
legacy_ssl_ports = {{ }}
s2s_ports = {{ }}
-- Without this a stanza that follows another one waits up to 40 ms for the client's delayed ACK.
network_settings = {{ nagle = false }}
-- Halves the processor time of a message (0.52 to 0.27 ms per round trip; Prosody 0.12, Lua 5.4).
-- Older Lua has no such mode: Prosody says so in its log and goes on as it was.
gc = {{ mode = "generational" }}
http_ports = {{ }}
https_ports = {{ {upload_port} }}
https_ssl = {{ key = {key_path}, certificate = {cert_path} }}

modules_enabled = {{ {modules} }}
modules_disabled = {{ "s2s", "s2s_auth_certs" }}

authentication = "internal_hashed"
storage = "internal"
c2s_require_encryption = true
allow_unencrypted_plain_auth = false
c2s_stanza_size_limit = {stanza_limit}
limits = {{ c2s = {{ rate = "2mb/s", burst = "5s" }} }}
unlimited_jids = {{ {service_jids} }}

VirtualHost {domain}
    ssl = {{ key = {key_path}, certificate = {cert_path} }}

Component {conference} "muc"
    restrict_room_creation = "local"
    muc_room_locking = false

Component {uploads} "http_file_share"
    -- A name that every machine knows; clients are told it in the addresses of uploads.
    http_host = "localhost"
    http_file_share_size_limit = {upload_limit}
    http_file_share_daily_quota = {upload_quota}
    http_file_share_global_quota = {upload_quota}
    http_file_share_expires_after = {upload_expiry}
"""


def prosody_config(
    directory: Path,
    certificates: Certificates,
    *,
    domain: str,
    port: int,
    upload_port: int,
    addresses: Iterable[str],
    service_jids: Iterable[str],
) -> str:
    """Return the configuration file of an instance that keeps everything in `directory`."""
    return TEMPLATE.format(
        run_as_root="run_as_root = true\n" if os.getuid() == 0 else "",
        data_path=_lua(directory / "data"),
        pid_path=_lua(directory / "prosody.pid"),
        log_path=_lua(directory / "server.log"),
        certificates_path=_lua(certificates.cert_path.parent),
        addresses=_lua_list(addresses),
        port=port,
        modules=_lua_list(MODULES),
        stanza_limit=STANZA_LIMIT_BYTES,
        service_jids=_lua_list(service_jids),
        domain=_lua(domain),
        conference=_lua(f"conference.{domain}"),
        uploads=_lua(f"upload.{domain}"),
        upload_port=upload_port,
        upload_limit=UPLOAD_LIMIT_BYTES,
        upload_quota=UPLOAD_QUOTA_BYTES,
        upload_expiry=UPLOAD_EXPIRY_S,
        key_path=_lua(certificates.key_path),
        cert_path=_lua(certificates.cert_path),
    )


def _lua_list(values: Iterable[str]) -> str:
    return ", ".join(_lua(value) for value in values)


def _lua(value: str | Path) -> str:
    """A Lua string that means exactly this text."""
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
