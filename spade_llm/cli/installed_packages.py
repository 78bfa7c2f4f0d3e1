"""Installed packages: missing extras, distributions that overwrite one another."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.imports import PACKAGES, install_command, missing_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

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
