"""Agents of a deployment: reads NAME/agent.toml, orders their start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import spade_llm
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import AgentSettings, load_agent
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid

if TYPE_CHECKING:
    from collections.abc import Sequence

AGENT_FILE = "agent.toml"
_DEPENDENT_KINDS = ("assistant", "gateway")
"""Kinds that use other agents, in start-up order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSpec:
    """Specification of an agent, read from its agent.toml."""

    path: Path
    settings: AgentSettings
    domain: str

    @property
    def name(self) -> str:
        return self.path.absolute().parent.name

    @property
    def wave(self) -> int:
        """Start-up wave. Agents of a later wave use those of earlier ones, and stop before them."""
        kind = self.settings.kind
        return _DEPENDENT_KINDS.index(kind) + 1 if kind in _DEPENDENT_KINDS else 0

    @property
    def jid(self) -> str:
        """Bare."""
        return self.resolve_jid(self.settings.jid)

    def resolve_jid(self, name: str) -> str:
        return full_jid(name, self.domain)

    def resolve_address(self, name: str) -> str:
        """Full address of a namespace or an owner: `you/manuals` → `you@localhost/manuals`."""
        owner, slash, namespace = name.partition("/")
        return f"{self.resolve_jid(owner)}{slash}{namespace}"


def read_spec(path: Path, *, domain: str) -> DeploymentSpec:
    """Raises ConfigurationError."""
    spec = DeploymentSpec(path=path, settings=load_agent(path), domain=domain)
    try:
        # Not with its own domain, which is no fault of this file.
        bare_jid(full_jid(spec.settings.jid, "localhost"))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: jid: {error}") from None
    return spec


def read_deployment(folder: Path, *, domain: str) -> tuple[DeploymentSpec, ...]:
    """Read every agent in the folder: services, then the assistants that use them, then gateways.

    Raises:
        ConfigurationError: there is none, one is wrong, or two have the same JID.
    """
    paths = sorted(folder.glob(f"*/{AGENT_FILE}"))
    found = [read_spec(path, domain=domain) for path in paths]
    if not found:
        what = f"there is no NAME/{AGENT_FILE} in" if folder.is_dir() else "there is no folder"
        raise ConfigurationError(
            f"--agents: {what} {str(folder)!r}: name the folder that contains one folder for each"
            " agent"
        )
    by_jid: dict[str, DeploymentSpec] = {}
    for one in found:
        other = by_jid.setdefault(one.jid, one)
        if other is not one:
            raise ConfigurationError(
                f"{one.path}: jid: {one.jid} is already the agent of {other.path}: change one"
            )
    return tuple(sorted(found, key=lambda one: one.wave))


def database_of(spec: DeploymentSpec, default: DatabaseUrl | None) -> DatabaseUrl | None:
    """Database of the agent.toml, else the default; None: files."""
    url = spec.settings.storage.database_url
    return DatabaseUrl(url, f"{spec.path}: storage.database_url") if url else default


def start_waves(specs: Sequence[DeploymentSpec]) -> list[list[DeploymentSpec]]:
    """Group the agents into waves, in start-up order; no wave is empty."""
    waves = sorted({one.wave for one in specs})
    return [[one for one in specs if one.wave == wave] for wave in waves]


def standard_deployment() -> Path:
    """The folder `agents/`: inside the installed package, or beside it in a checkout."""
    package = Path(spade_llm.__file__).parent
    for folder in (package / "_agents", package.parent / "agents"):
        if folder.is_dir():
            return folder
    raise ConfigurationError("the standard agents are missing: install spade-llm-agents again")
