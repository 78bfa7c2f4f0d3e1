"""What a chat was measured to cost, which the simulation begins with: one small file.

`python -m bench costs && python -m bench.measured` puts the latest run's figures into it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bench.results import FOLDER, Run
from bench.results import read as read_run

PATH = Path(__file__).with_suffix(".json")
ROW = "processor per chat: "
"""Rows of bench/costs.py, by process."""


class Measured(BaseModel):
    """A chat with recall and retrieval on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: str
    machine: str
    processor_ms_per_chat: dict[str, float]
    """By process: prosody, assistant, memory, rag."""
    memory_share_before_answer: float
    """Of memory's time: the question's vector and searches (from its profile). The rest is
    learning, vectors of what was said, and their rows, after the answer."""

    def seconds(self, process: str) -> float:
        return self.processor_ms_per_chat[process] / 1000


def read(path: Path = PATH) -> Measured:
    return Measured.model_validate_json(path.read_text(encoding="utf-8"))


def refreshed(old: Measured, run: Run) -> Measured:
    """With the figures of a run of `bench costs`, where it has them."""
    found = {row.name.removeprefix(ROW): row.ours for row in run.rows.values()}
    costs = old.processor_ms_per_chat
    new = {name: round(found.get(name, ms), 2) for name, ms in costs.items()}
    at, machine = f"{run.at:%Y-%m-%d}", run.machine
    return old.model_copy(update={"processor_ms_per_chat": new, "at": at, "machine": machine})


def main(paths: list[str]) -> int:
    latest = Path(paths[0]) if paths else max(FOLDER.glob("*.json"))
    new = refreshed(read(), read_run(latest))
    PATH.write_text(json.dumps(new.model_dump(), indent=1) + "\n", encoding="utf-8")
    print(f"{PATH.name}: {new.processor_ms_per_chat}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
