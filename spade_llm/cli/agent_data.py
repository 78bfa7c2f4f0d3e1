"""Folders of agents below the data directory, and the files in them. Reads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


def agent_homes(data: Path) -> list[Path]:
    """Folders of all agents that ever ran on this data, named by their JIDs, in order."""
    return sorted(path for path in (data / "agents").glob("*@*") if path.is_dir())


def kept_by(agent: str, name: str, data: Path, *, what: str) -> Path:
    """`name` in the folder of the agent with this JID or local part. `what` is kept there.

    Raises:
        ConfigurationError: no such agent has it, or several.
    """
    found = sorted((data / "agents").glob(f"*/{name}"))
    named = [path for path in found if agent in (path.parent.name, _local(path))]
    if len(named) == 1:
        return named[0]
    if not named:
        known = ", ".join(path.parent.name for path in found) or "none"
        raise ConfigurationError(
            f"no {what} of {agent!r} is below {str(data / 'agents')!r}, but of: {known};"
            " name the data directory with --data, or the agent with --agent"
        )
    names = ", ".join(path.parent.name for path in named)
    raise ConfigurationError(f"there are several such agents ({names}): give a whole JID")


def _local(path: Path) -> str:
    return path.parent.name.partition("@")[0]
