"""`spade-llm host prepare`: writes the folders and configuration of a multi-user server."""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.cli.deployment.hosted import (
    CONFIG_FILE,
    PEOPLE_FOLDER,
    SERVER_FOLDER,
    DeploymentSite,
    prepare_deployment,
)
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid
from spade_llm.xmpp.servers.prosody_config import HostingOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

HTTPS_PORT = 5281
FEDERATION_PORT = 5269


def main(options: argparse.Namespace) -> int:
    root = Path(options.to).absolute()
    folder = Path(options.agents) if options.agents else standard_deployment()
    site = _site(options, read_deployment(folder, domain=options.domain))
    prepare_deployment(root, site)
    for line in _report(root, site):
        print(line)
    return 0


def _site(options: argparse.Namespace, specs: Sequence[DeploymentSpec]) -> DeploymentSite:
    for one in specs:
        _check_account(one)
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


def _check_account(one: DeploymentSpec) -> None:
    if one.settings.password_file or one.settings.password_env:
        raise ConfigurationError(
            f"{one.path}: password_file or password_env: remove it; `host prepare` makes one"
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


def _report(root: Path, site: DeploymentSite) -> list[str]:
    people = [
        f"person      {jid}: password in {root / PEOPLE_FOLDER / 'accounts' / jid}"
        for jid in site.people
    ]
    return [
        f"server      {root / SERVER_FOLDER / CONFIG_FILE}",
        *(f"agent       {jid}: data in {root / name}" for name, jid in site.agents.items()),
        *people,
        f"next        as {_user()}: sh docker/accounts.sh {shlex.quote(str(root))}",
    ]


def _user() -> str:
    """The user that owns the deployment: the one that prepares it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
