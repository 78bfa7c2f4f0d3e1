"""One run of the benchmarks as a record, written and read as JSON. Knows no benchmark."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from bench.row import Row

FOLDER = Path(__file__).parent / "results"
LIBRARIES = (
    *("spade", "slixmpp-multiplatform", "openai", "pydantic", "aiosqlite", "chromadb"),
    *("onnxruntime", "numpy", "fastapi", "uvicorn"),
)
SERVERS = {
    "prosody": ("prosodyctl", "about"),
    "ejabberdctl": ("dpkg-query", "-W", "-f", "ejabberd ${Version}", "ejabberd"),
}
"""Program → what tells its version."""
FORMAT = 1
"""Of the file. A later one reads the earlier ones."""


class UnreadableRun(Exception):
    """A file that is no run of the benchmarks, and what is wrong with it."""


class Part(BaseModel):
    """What one benchmark found."""

    model_config = ConfigDict(frozen=True)

    name: str
    seconds: float
    load: float
    """Of the machine before it: above 1.5, other work took part."""
    rows: tuple[Row, ...]

    @field_validator("rows")
    @classmethod
    def _have_names_of_their_own(cls, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        names = [row.name for row in rows]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two rows of one name, which no run can be compared by: {twice}")
        return rows


class Run(BaseModel):
    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    at: datetime
    is_quick: bool
    machine: str
    python: str
    versions: dict[str, str]
    parts: tuple[Part, ...]

    @property
    def rows(self) -> dict[str, Row]:
        """By the benchmark's name and the row's."""
        return {f"{part.name}: {row.name}": row for part in self.parts for row in part.rows}


def run_of(parts: list[Part], *, is_quick: bool) -> Run:
    """With what this machine is."""
    return Run(
        at=datetime.now(UTC).replace(microsecond=0),
        is_quick=is_quick,
        machine=_machine(),
        python=platform.python_version(),
        versions={name: version(name) for name in LIBRARIES} | _servers(),
        parts=tuple(parts),
    )


def write(run: Run, folder: Path = FOLDER) -> Path:
    """One file per run, named after its time."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{run.at:%Y-%m-%dT%H-%M-%S}.json"
    path.write_text(run.model_dump_json(indent=1), encoding="utf-8")
    return path


def read(path: Path) -> Run:
    """Raises UnreadableRun."""
    try:
        run = Run.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UnreadableRun(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise UnreadableRun(f"{path}: {where}: {first['msg']}; give a file of make bench") from None
    if run.format > FORMAT:
        raise UnreadableRun(f"{path}: format {run.format} is newer than this program's {FORMAT}")
    return run


def merged(runs: list[Run]) -> Run:
    """One run of several that were made in pieces: of a benchmark in two of them the later counts.

    Whose machine and versions differ are none.
    """
    first, *others = sorted(runs, key=lambda run: run.at)
    for other in others:
        if (other.machine, other.versions) != (first.machine, first.versions):
            raise UnreadableRun(f"the runs of {first.at} and {other.at} are of two machines")
    parts = {part.name: part for run in (first, *others) for part in run.parts}
    return first.model_copy(update={"parts": tuple(parts.values())})


def _machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB, {_system()}"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _servers() -> dict[str, str]:
    """Of what is installed."""
    found = {}
    for program, command in SERVERS.items():
        if shutil.which(program) and shutil.which(command[0]):
            said = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
            # Prosody may warn of optional Lua modules before it tells its version.
            if told := re.search(
                r"^(?P<name>Prosody|ejabberd) (?P<version>\d\S*)", said, re.MULTILINE
            ):
                found[told["name"].lower()] = told["version"]
    return found
