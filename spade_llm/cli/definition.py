"""The agents of a deployment: a folder with NAME/agent.toml in it. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import spade_llm
from spade_llm.deployment.address import full_jid
from spade_llm.errors import ConfigurationError
from spade_llm.settings import AgentSettings, load_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = "agent.toml"
_USERS = ("assistant", "gateway")
"""Kinds that use others; each those before it."""


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
    def wave(self) -> int:
        """Of starting; agents of a later one use those of an earlier one, and stop before them."""
        kind = self.settings.kind
        return _USERS.index(kind) + 1 if kind in _USERS else 0

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
    """Every agent in the folder, services before the assistants that use them, gateways last.

    Raises:
        ConfigurationError: there is none, one is wrong, or two have the same JID.
    """
    paths = sorted(folder.glob(f"*/{FILE}"))
    found = [read_definition(path, domain=domain) for path in paths]
    if not found:
        raise ConfigurationError(f"--agents: there is no NAME/{FILE} in {str(folder)!r}")
    _refuse_twins(found)
    return tuple(sorted(found, key=lambda one: one.wave))


def in_waves(definitions: Sequence[Definition]) -> list[list[Definition]]:
    """In the order of starting; without empty ones."""
    waves = sorted({one.wave for one in definitions})
    return [[one for one in definitions if one.wave == wave] for wave in waves]


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
