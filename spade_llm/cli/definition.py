"""The agents of a deployment: a folder with NAME/agent.toml in it. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import spade_llm
from spade_llm.deployment.address import full_jid
from spade_llm.errors import ConfigurationError
from spade_llm.settings import AgentSettings, load_agent

FILE = "agent.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One agent as its file describes it."""

    path: Path
    settings: AgentSettings
    domain: str

    @property
    def name(self) -> str:
        return self.path.absolute().parent.name

    @property
    def jid(self) -> str:
        """Bare."""
        return self.full(self.settings.jid)

    def full(self, name: str) -> str:
        return full_jid(name, self.domain)

    def full_address(self, name: str) -> str:
        """Of a namespace, or of an owner: `you/manuals` → `you@localhost/manuals`."""
        owner, slash, namespace = name.partition("/")
        return f"{self.full(owner)}{slash}{namespace}"


def read_definition(path: Path, *, domain: str) -> Definition:
    """Raises ConfigurationError."""
    return Definition(path=path, settings=load_agent(path), domain=domain)


def read_deployment(folder: Path, *, domain: str) -> tuple[Definition, ...]:
    """Every agent in the folder, services before the assistants that use them.

    Raises:
        ConfigurationError: there is none, one is wrong, or two have the same JID.
    """
    paths = sorted(folder.glob(f"*/{FILE}"))
    found = [read_definition(path, domain=domain) for path in paths]
    if not found:
        raise ConfigurationError(f"--agents: there is no NAME/{FILE} in {str(folder)!r}")
    _refuse_twins(found)
    return tuple(sorted(found, key=lambda one: one.settings.kind == "assistant"))


def standard_deployment() -> Path:
    """The folder `agents/`: inside the installed package, or beside it in a checkout."""
    package = Path(spade_llm.__file__).parent
    for folder in (package / "_agents", package.parent / "agents"):
        if folder.is_dir():
            return folder
    raise ConfigurationError("the standard agents are missing: install spade-llm-agents again")


def _refuse_twins(found: list[Definition]) -> None:
    by_jid: dict[str, Definition] = {}
    for one in found:
        other = by_jid.setdefault(one.jid, one)
        if other is not one:
            raise ConfigurationError(
                f"{one.path}: jid: {one.jid} is the agent of {other.path}, too: change one"
            )
