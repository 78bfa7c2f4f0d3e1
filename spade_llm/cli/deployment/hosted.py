"""Hosted deployment: prepares folders, certificates, accounts and server configuration.

ROOT/authority   the CA of our own, where no certificate was given; only `prepare` reads it
    ROOT/server      Prosody's: configuration, certificate, data, web chat
    ROOT/NAME        DATA of the agent in agents/NAME: its password, the CA, all its state
    ROOT/people      the first passwords of people, and the CA for their clients

Each folder may be a volume of its own, so that no agent reads another's password. Doing it again
changes what the options say, and keeps accounts, data and the CA.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import bare_jid, local_part
from spade_llm.xmpp.servers.certificates import (
    KeyPair,
    import_certificates,
    imported_ca,
    local_certificates,
    write_file,
)
from spade_llm.xmpp.servers.passwords import AccountPasswords
from spade_llm.xmpp.servers.prosody import account_path
from spade_llm.xmpp.servers.prosody_config import prosody_config
from spade_llm.xmpp.servers.run_record import save_ca

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from spade_llm.xmpp.servers.prosody_config import HostingOptions

SERVER_FOLDER, PEOPLE_FOLDER, AUTHORITY_FOLDER = "server", "people", "authority"
REGISTERED = "registered"
"""Folder in SERVER: one file for each account that docker/accounts.sh made."""
CONFIG_FILE = "prosody.cfg.lua"
SITE_FILE = "site.json"
ADDRESSES = ("*", "::")
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
    port: int = 5222
    addresses: tuple[str, ...] = ADDRESSES
    given_certificates: Path | None = None
    """Folder of a certificate from elsewhere; None: one of our own CA."""
    web_pages: Path | None = None
    """The folder that docker/web/build.sh made; None: no web chat."""


def prepare_deployment(root: Path, site: DeploymentSite) -> None:
    """Make everything below `root` that is missing, and write anew what follows from `site`.

    Raises:
        ConfigurationError: says what stands in the way.
    """
    _check_folders(site)
    try:
        _check_new_accounts(root, site)
        _prepare(root, site)
    except OSError as error:
        raise ConfigurationError(
            f"--to: {str(error.filename or root)!r} cannot be written ({error.strerror}): run this"
            " as the user that the folders belong to"
        ) from error


def _prepare(root: Path, site: DeploymentSite) -> None:
    server = root / SERVER_FOLDER
    # mkdir's mode holds for the last folder of a path only, so that each one is named.
    for folder in (root / AUTHORITY_FOLDER, server, server / "data", root / PEOPLE_FOLDER):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    pair, authority = _certificates(root, site)
    for name, jid in site.agents.items():
        _keep_agent(root / name, jid, authority)
    for jid in site.people:
        AccountPasswords(root / PEOPLE_FOLDER).get_or_make(jid)
    save_ca(root / PEOPLE_FOLDER, authority.read_bytes() if authority else None)
    _keep_server(server, site, pair)


def _check_folders(site: DeploymentSite) -> None:
    for name, jid in site.agents.items():
        if name in RESERVED_NAMES:
            raise ConfigurationError(f"agents/{name}: that folder has another use: rename it")
        if jid.partition("@")[2] != site.domain:
            raise ConfigurationError(
                f"agents/{name}: {jid} is not on {site.domain}: write its name without @ in jid"
            )


def _check_new_accounts(root: Path, site: DeploymentSite) -> None:
    """An account that exists gets a new password only if its file was there and was removed."""
    agents = {bare_jid(jid): name for name, jid in site.agents.items()}
    for jid in site.people:
        if jid in agents:
            raise ConfigurationError(f"--people: {jid} is the agent of agents/{agents[jid]}")
    for jid, folder in (*agents.items(), *((jid, PEOPLE_FOLDER) for jid in site.people)):
        if AccountPasswords(root / folder).find(jid) is None:
            _check_free(root, site, jid, folder)


def _check_free(root: Path, site: DeploymentSite, jid: str, folder: str) -> None:
    for other in (*site.agents, PEOPLE_FOLDER):
        if other != folder and AccountPasswords(root / other).find(jid) is not None:
            raise ConfigurationError(f"{jid} has its password in {str(root / other)!r} already")
    server = root / SERVER_FOLDER
    account = account_path(server / "data", site.domain, local_part(jid, domain=site.domain))
    if account.is_file() and not (server / REGISTERED / jid).is_file():
        raise ConfigurationError(
            f"{jid} has an account that was not made here, and it would get another password:"
            " choose another name, or delete that account first (`prosodyctl deluser`)"
        )


def _certificates(root: Path, site: DeploymentSite) -> tuple[KeyPair, Path | None]:
    """Server certificate, and the CA that clients need in addition to the system's."""
    names = _names(site)
    target = root / SERVER_FOLDER / "certificates"
    if site.given_certificates is not None:
        pair = import_certificates(site.given_certificates, target, names)
        return pair, imported_ca(site.given_certificates)
    own = local_certificates(root / AUTHORITY_FOLDER, site.domain, names=names[1:])
    target.mkdir(exist_ok=True, mode=0o700)
    pair = KeyPair(cert_path=target / "server.pem", key_path=target / "server.key")
    write_file(pair.key_path, own.key_path.read_bytes(), mode=0o600)
    write_file(pair.cert_path, own.cert_path.read_bytes(), mode=0o644)
    return pair, own.ca_path


def _names(site: DeploymentSite) -> tuple[str, ...]:
    """Names for the server certificate: XMPP domain, web host and rooms."""
    web = urlsplit(site.hosting.web_url).hostname or site.domain
    # Other servers connect to the rooms by their own domain, and check the certificate for it.
    rooms = (f"conference.{site.domain}",) if site.hosting.federation_port else ()
    return tuple(dict.fromkeys([site.domain, web, *rooms]))


def _keep_agent(data: Path, jid: str, authority: Path | None) -> None:
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    AccountPasswords(data).get_or_make(jid)
    save_ca(data, authority.read_bytes() if authority else None)


def _keep_server(server: Path, site: DeploymentSite, pair: KeyPair) -> None:
    web = _keep_web(server / "web", site)
    text = prosody_config(
        server,
        pair,
        domain=site.domain,
        port=site.port,
        upload_port=urlsplit(site.hosting.web_url).port or 443,
        addresses=site.addresses,
        service_jids=site.agents.values(),
        hosting=replace(site.hosting, web_chat=web),
    )
    write_file(server / CONFIG_FILE, text.encode(), mode=0o600)


def _keep_web(web: Path, site: DeploymentSite) -> Path | None:
    """The pages, copied whole: what an earlier version had is gone."""
    shutil.rmtree(web, ignore_errors=True)
    if site.web_pages is None:
        return None
    if not (site.web_pages / "index.html").is_file():
        raise ConfigurationError(
            f"--web-chat: there is no index.html in {str(site.web_pages)!r}: make the pages with"
            " docker/web/build.sh"
        )
    shutil.copytree(site.web_pages, web)
    told = {"domain": site.domain, "assistants": list(site.assistants)}
    write_file(web / SITE_FILE, json.dumps(told).encode(), mode=0o644)
    return web
