"""Agents of a deployment: reads NAME/agent.toml, orders their start, checks installed packages."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import spade_llm
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.imports import PACKAGES, install_command, missing_packages
from spade_llm.core.settings import AgentSettings, load_agent
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid

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
    Raises ConfigurationError: there is none, one is wrong, or two have the same JID."""
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


def agents_folder(options: argparse.Namespace) -> Path:
    """Folder of --agents, else that of the standard agents."""
    return Path(options.agents) if options.agents else standard_deployment()


def standard_deployment() -> Path:
    """The folder `agents/`: inside the installed package, or beside it in a checkout."""
    package = Path(spade_llm.__file__).parent
    for folder in (package / "_agents", package.parent / "agents"):
        if folder.is_dir():
            return folder
    raise ConfigurationError("the standard agents are missing: install spade-llm-agents again")


CONFLICTING_DISTRIBUTIONS = (
    ("spade-llm-agents", "spade-llm", "spade_llm"),
    ("slixmpp-multiplatform", "slixmpp", "slixmpp"),
)
"""Our distribution, the conflicting one, and the package that both install."""


def require_agent_extras(specs: Iterable[DeploymentSpec]) -> None:
    """Raises ConfigurationError if extras that these agents need are not installed."""
    if missing := missing_extras(specs):
        raise ConfigurationError(
            f"these agents need packages that are not installed: {install_command(*missing)}"
        )


def without_missing_extras(
    specs: Iterable[DeploymentSpec], say: Callable[[str], None]
) -> tuple[DeploymentSpec, ...]:
    """Agents that the installed packages suffice for. The others are named with the command that
    installs what they need, and no assistant asks them."""
    kept, left_out = [], set()
    for one in specs:
        if missing := missing_extras([one]):
            left_out.add(one.jid)
            say(f"left out    {one.jid}: it needs {install_command(*missing)}")
        else:
            kept.append(one)
    return tuple(
        without_rag(one)
        if (rag := one.settings.services.rag) and one.resolve_jid(rag) in left_out
        else one
        for one in kept
    )


def without_rag(spec: DeploymentSpec) -> DeploymentSpec:
    """The agent without documents of a RAG agent: it asks none."""
    services = spec.settings.services.model_copy(update={"rag": None})
    return replace(spec, settings=spec.settings.model_copy(update={"services": services}))


def missing_extras(specs: Iterable[DeploymentSpec]) -> list[str]:
    needed = {extra for one in specs for extra in _extras_of(one)}
    return [extra for extra in PACKAGES if extra in needed and missing_packages(extra)]


def find_package_conflicts() -> list[str]:
    """Installed distributions that overwrite one another's packages, which pip does not notice: a
    sentence with the remedy for each pair."""
    return [
        f"{ours} and {other} are both installed and overwrite each other's package {package}:"
        f" `pip uninstall {other} {ours}`, then install spade-llm-agents again"
        for ours, other, package in CONFLICTING_DISTRIBUTIONS
        if is_installed(ours) and is_installed(other)
    ]


def warn_of_package_conflicts(say: Callable[[str], None]) -> None:
    for clash in find_package_conflicts():
        say(f"WARNING     {clash}")


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _extras_of(spec: DeploymentSpec) -> Iterable[str]:
    if spec.settings.kind == "rag":
        yield "documents"
    if spec.settings.kind == "gateway":
        yield "gateway"
    if spec.settings.mcp:
        yield "mcp"
    if spec.settings.storage.database_url:
        yield "postgres"
