"""How large what a user installs is: our wheel, and what comes with it. Knows no benchmark.

The distributions are those that ours needs, and those that they need, by the metadata of what is
installed here, on this platform and without extras that nobody asks for: not what else is in the
environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.utils import NormalizedName

OURS = "spade-llm-agents"
ROOT = Path(__file__).parent.parent
BUILD = "from hatchling import build; print(build.build_wheel('.'))"
SOURCES = ("pyproject.toml", "README.md", "LICENSE")


def closure(name: str, extras: frozenset[str] = frozenset()) -> dict[str, frozenset[str]]:
    """By canonical name all that is installed with this one, itself too, and the extras asked for.

    Raises PackageNotFoundError: it is not installed itself.
    """
    distribution(name)
    found: dict[str, frozenset[str]] = {}
    waiting = [(canonicalize_name(name), extras)]
    while waiting:
        one, asked = waiting.pop()
        known = found.get(one)
        if (known is None or not asked <= known) and _is_here(one):
            found[one] = asked | (known or frozenset())
            waiting += _needed(one, found[one])
    return found


def installed_mb(names: dict[str, frozenset[str]]) -> float:
    """Of the files that these distributions say are theirs; ours, which may be a link to the
    sources, says none."""
    paths = {path.locate() for name in names for path in distribution(name).files or ()}
    return sum(Path(str(path)).stat().st_size for path in paths if Path(str(path)).is_file()) / 1e6


def wheel_kb() -> float:
    """Of our own, built from a copy of the sources."""
    with tempfile.TemporaryDirectory(prefix="bench-wheel-") as folder:
        for name in SOURCES:
            copy(ROOT / name, folder)
        for name in ("spade_llm", "agents"):
            copytree(ROOT / name, Path(folder) / name, ignore=ignore_patterns("__pycache__"))
        program = [sys.executable, "-c", BUILD]
        subprocess.run(program, cwd=folder, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        return wheel.stat().st_size / 1000


def _needed(
    name: NormalizedName, extras: frozenset[str]
) -> Iterator[tuple[NormalizedName, frozenset[str]]]:
    for text in distribution(name).requires or ():
        one = Requirement(text)
        marker = one.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(one.name), frozenset(one.extras)


def _is_here(name: str) -> bool:
    """What a marker of another system wants is not."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
