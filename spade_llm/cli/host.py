"""`spade-llm host prepare`: writes folders, certificates, accounts and server configuration.

    ROOT/authority   our own CA, where no certificate was given; only `prepare` reads it
    ROOT/server      Prosody's configuration, certificate, data and web chat
    ROOT/NAME        DATA of the agent in agents/NAME: its password, the CA, all its state
    ROOT/people      the first passwords of people, and the CA for their clients

Each folder may be a volume of its own, so that no agent can read another's password. A second run
applies changed options, and keeps accounts, data and the CA.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli.factory.deployment_spec import DeploymentSpec, agents_folder, read_deployment
from spade_llm.cli.terminal import note, show
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import bare_jid, local_part
from spade_llm.xmpp.connection.settings import full_jid
from spade_llm.xmpp.servers import certificates
from spade_llm.xmpp.servers.data_directory import AccountPasswords, save_ca
from spade_llm.xmpp.servers.prosody import account_path
from spade_llm.xmpp.servers.prosody_config import HostingOptions, prosody_config

if TYPE_CHECKING:
    import argparse


HTTPS_PORT = 5281
FEDERATION_PORT = 5269

SERVER_FOLDER, PEOPLE_FOLDER, AUTHORITY_FOLDER = "server", "people", "authority"
REGISTERED = "registered"
"""Folder in ROOT/server: one file for each account that docker/accounts.sh created."""
CONFIG_FILE = "prosody.cfg.lua"
SITE_FILE = "site.json"
RESERVED_NAMES = frozenset({SERVER_FOLDER, PEOPLE_FOLDER, AUTHORITY_FOLDER})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSite:
    """A deployment as its operator wants it."""

    domain: str
    agents: Mapping[str, str]
    """Folder → bare JID."""
    people: tuple[str, ...]
    """Bare JIDs of the people that get an initial password."""
    assistants: tuple[str, ...]
    """Bare JIDs that the web chat opens."""
    hosting: HostingOptions
    port: int
    addresses: tuple[str, ...]
    given_certificates: Path | None = None
    """Folder of a certificate from elsewhere; None: one of our own CA."""
    web_pages: Path | None = None
    """The folder that docker/web/build.sh made; None: no web chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedServer:
    """Server of a prepared deployment, as its configuration has it."""

    domain: str
    port: int
    web_url: str


_CONFIGURED = re.compile(
    r'^(?:VirtualHost "(?P<domain>[^"]+)"|c2s_ports = \{ (?P<port>\d+) \}'
    r'|\s*http_external_url = "(?P<web_url>[^"]+)")',
    re.MULTILINE,
)


def prepared_server(root: Path) -> PreparedServer | None:
    """Server of the deployment in this folder; None: there is none. Raises ConfigurationError: its
    configuration belongs to another user."""
    config = root / SERVER_FOLDER / CONFIG_FILE
    try:
        text = config.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise ConfigurationError(
            f"{config} cannot be read: run this as the user of `host prepare`, or name the server"
            " with --server and --domain"
        ) from None
    found = {
        key: one[key] for one in _CONFIGURED.finditer(text) for key in one.groupdict() if one[key]
    }
    if not found.keys() >= {"domain", "port"}:
        return None
    return PreparedServer(
        domain=found["domain"], port=int(found["port"]), web_url=found.get("web_url", "")
    )


def main(options: argparse.Namespace) -> int:
    root = Path(options.to).absolute()
    site = _site(options, read_deployment(agents_folder(options), domain=options.domain))
    prepare_deployment(root, site)
    config, accounts = root / SERVER_FOLDER / CONFIG_FILE, root / PEOPLE_FOLDER / "accounts"
    show(options, {"kind": "server", "config": config}, f"server      {config}")
    for name, jid in site.agents.items():
        agent = {"kind": "agent", "jid": jid, "data": root / name}
        show(options, agent, f"agent       {jid}: data in {root / name}")
    for jid in site.people:
        person = {"kind": "person", "jid": jid, "password_file": accounts / jid}
        show(options, person, f"person      {jid}: password in {accounts / jid}")
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"user {os.getuid()}"
    note(options, f"next        as {user}: sh docker/accounts.sh {shlex.quote(str(root))}")
    return 0


def _site(options: argparse.Namespace, specs: Sequence[DeploymentSpec]) -> DeploymentSite:
    for one in specs:
        if one.settings.password_file or one.settings.password_env:
            raise ConfigurationError(
                f"{one.path}: password_file or password_env: remove it; `host prepare` creates a"
                " password"
            )
    return DeploymentSite(
        domain=options.domain,
        agents={one.name: one.jid for one in specs},
        people=_jids(options.people, options.domain),
        assistants=tuple(one.jid for one in specs if one.settings.kind == "assistant"),
        hosting=HostingOptions(
            web_url=_web_url(options),
            admins=_jids(options.admins, options.domain),
            federation_port=FEDERATION_PORT if options.federation == "on" else None,
            archive_days=options.archive_days,
        ),
        port=options.port,
        addresses=tuple(_words(options.listen)),
        given_certificates=Path(options.certificates) if options.certificates else None,
        web_pages=Path(options.web_chat) if options.web_chat else None,
    )


def _web_url(options: argparse.Namespace) -> str:
    url: str = options.web_url or f"https://{options.domain}:{HTTPS_PORT}"
    try:
        parts = urlsplit(url)
        is_site = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_site = False
    if not is_site or parts.path.strip("/"):
        raise ConfigurationError(f"--web-url: {url!r} is not https://HOST or https://HOST:PORT")
    return url


def _jids(names: str, domain: str) -> tuple[str, ...]:
    return tuple(bare_jid(full_jid(name, domain)) for name in _words(names))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def prepare_deployment(root: Path, site: DeploymentSite) -> None:
    """Create everything below `root` that is missing, and write the configuration of `site` anew.
    Raises ConfigurationError: a name, an account or a folder cannot be used."""
    for name, jid in site.agents.items():
        if name in RESERVED_NAMES:
            raise ConfigurationError(f"agents/{name}: this name is reserved: rename the folder")
        if jid.partition("@")[2] != site.domain:
            raise ConfigurationError(
                f"agents/{name}: {jid} is not on {site.domain}: write its name without @ in jid"
            )
    try:
        _check_new_accounts(root, site)
        _prepare(root, site)
    except OSError as error:
        raise ConfigurationError(
            f"--to: {str(error.filename or root)!r} cannot be written ({error.strerror}): run this"
            " as the user that owns the folders"
        ) from error


def _check_new_accounts(root: Path, site: DeploymentSite) -> None:
    """An existing account gets a new password only if its password file was here and is gone."""
    agents = {bare_jid(jid): name for name, jid in site.agents.items()}
    for jid in site.people:
        if jid in agents:
            raise ConfigurationError(f"--people: {jid} is the agent of agents/{agents[jid]}")
    server = root / SERVER_FOLDER
    for jid, folder in (*agents.items(), *((jid, PEOPLE_FOLDER) for jid in site.people)):
        if AccountPasswords(root / folder).find(jid) is not None:
            continue
        for other in (*site.agents, PEOPLE_FOLDER):
            if other != folder and AccountPasswords(root / other).find(jid) is not None:
                raise ConfigurationError(f"{jid} already has its password in {str(root / other)!r}")
        account = account_path(server / "data", site.domain, local_part(jid, domain=site.domain))
        if account.is_file() and not (server / REGISTERED / jid).is_file():
            raise ConfigurationError(
                f"{jid} has an account that was not created here, and would get another password:"
                " choose another name, or delete that account first (`prosodyctl deluser`)"
            )


def _prepare(root: Path, site: DeploymentSite) -> None:
    server, people = root / SERVER_FOLDER, root / PEOPLE_FOLDER
    # mkdir's mode holds for the last folder of a path only, so that each one is named.
    for folder in (root / AUTHORITY_FOLDER, server, server / "data", people):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    pair, authority = _certificates(root, site)
    ca = authority.read_bytes() if authority else None
    for name, jid in site.agents.items():
        data = root / name
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        AccountPasswords(data).get_or_make(jid)
        save_ca(data, ca)
    for jid in site.people:
        AccountPasswords(people).get_or_make(jid)
    save_ca(people, ca)
    text = prosody_config(
        server,
        pair,
        domain=site.domain,
        port=site.port,
        upload_port=urlsplit(site.hosting.web_url).port or 443,
        addresses=site.addresses,
        service_jids=site.agents.values(),
        hosting=replace(site.hosting, web_chat=_copy_web_chat(server / "web", site)),
    )
    certificates.write_file(server / CONFIG_FILE, text.encode(), mode=0o600)


def _certificates(root: Path, site: DeploymentSite) -> tuple[certificates.KeyPair, Path | None]:
    """Server certificate, and the CA that clients need in addition to the system's."""
    web = urlsplit(site.hosting.web_url).hostname or site.domain
    # Other servers connect to the rooms by their own domain, and check the certificate for it.
    rooms = (f"conference.{site.domain}",) if site.hosting.federation_port else ()
    names = tuple(dict.fromkeys([site.domain, web, *rooms]))
    target = root / SERVER_FOLDER / "certificates"
    if site.given_certificates is not None:
        pair = certificates.import_certificates(site.given_certificates, target, names)
        return pair, certificates.imported_ca(site.given_certificates)
    own = certificates.local_certificates(root / AUTHORITY_FOLDER, site.domain, names=names[1:])
    target.mkdir(exist_ok=True, mode=0o700)
    pair = certificates.KeyPair(cert_path=target / "server.pem", key_path=target / "server.key")
    certificates.write_file(pair.key_path, own.key_path.read_bytes(), mode=0o600)
    certificates.write_file(pair.cert_path, own.cert_path.read_bytes(), mode=0o644)
    return pair, own.ca_path


def _copy_web_chat(web: Path, site: DeploymentSite) -> Path | None:
    """Replace the web chat's pages, so that no file of an earlier version remains."""
    shutil.rmtree(web, ignore_errors=True)
    if site.web_pages is None:
        return None
    if not (site.web_pages / "index.html").is_file():
        raise ConfigurationError(
            f"--web-chat: there is no index.html in {str(site.web_pages)!r}: build the pages with"
            " docker/web/build.sh"
        )
    shutil.copytree(site.web_pages, web)
    content = {"domain": site.domain, "assistants": list(site.assistants)}
    certificates.write_file(web / SITE_FILE, json.dumps(content).encode(), mode=0o644)
    return web
