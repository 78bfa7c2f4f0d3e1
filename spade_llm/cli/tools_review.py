"""`spade-llm tools review`: what MCP servers say of their tools now, against what was accepted.

Works on the file in the data directory, also while the agent runs: it notices each decision.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from spade_llm.cli.agent_data import kept_by
from spade_llm.cli.place import data_directory
from spade_llm.errors import ConfigurationError
from spade_llm.tools.mcp.comparison import side_by_side
from spade_llm.tools.mcp.names import offered_name
from spade_llm.tools.mcp.pins import FILE, Pins, Waiting

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

QUESTION = "accept it? [y]es, [n]o, never; anything else: later > "


def review(options: argparse.Namespace) -> int:
    data = data_directory(options)
    pins = Pins(kept_by(options.agent, FILE, data, what="list of MCP tools"))
    waiting = pins.waiting()
    if options.accept or options.reject:
        return _decide(pins, waiting, options.accept, options.reject)
    shown = [one for one in waiting if options.all or not one.is_rejected]
    for one in shown:
        _show(one)
        if sys.stdin.isatty():
            _ask(pins, one)
    print(_summary(waiting, shown))
    return 0


def _decide(
    pins: Pins,
    waiting: Sequence[Waiting],
    accepted: Sequence[str] | None,
    rejected: Sequence[str] | None,
) -> int:
    chosen = [(one, True) for name in accepted or () for one in _named(waiting, name)]
    chosen += [(one, False) for name in rejected or () for one in _named(waiting, name)]
    for one, is_accepted in chosen:
        _settle(pins, one, is_accepted=is_accepted)
    return 0


def _named(waiting: Sequence[Waiting], wanted: str) -> list[Waiting]:
    """`NAME@DIGEST` is exactly what was shown; NAME alone whatever waits now, and it is shown."""
    name, _, digest = wanted.partition("@")
    found = [one for one in waiting if name in (_name(one), one.server)]
    if not found:
        names = ", ".join(map(_name, waiting))
        raise ConfigurationError(f"{name!r} does not wait for review; waiting: {names or 'none'}")
    if any(not one.digest.startswith(digest) for one in found):
        raise ConfigurationError(f"{name!r} is no longer what was shown: review it again")
    for one in found if not digest else ():
        _show(one)
    return found


def _settle(pins: Pins, one: Waiting, *, is_accepted: bool) -> None:
    (pins.accept if is_accepted else pins.reject)(one)
    print(f"{'accepted' if is_accepted else 'rejected':11} {_reference(one)}")


def _show(one: Waiting) -> None:
    kind = "rejected" if one.is_rejected else "changed" if one.accepted else "new"
    print(f"{_reference(one)}: {kind} since {one.since}")
    width = shutil.get_terminal_size((120, 24)).columns
    for line in side_by_side(one.accepted, one.offered, width=width):
        print(f"  {line}")
    print()


def _ask(pins: Pins, one: Waiting) -> None:
    try:
        answer = input(QUESTION).strip().lower()
    except EOFError:
        answer = ""
    match answer:
        case "y" | "yes":
            _settle(pins, one, is_accepted=True)
        case "n" | "no":
            _settle(pins, one, is_accepted=False)
        case _:
            print(f"{'later':11} {_name(one)}")


def _summary(waiting: Sequence[Waiting], shown: Sequence[Waiting]) -> str:
    hidden = len(waiting) - len(shown)
    rejected = f"; {hidden} rejected (--all shows them)" if hidden else ""
    return f"{len(shown)} definitions were waiting for review{rejected}"


def _name(one: Waiting) -> str:
    return offered_name(one.server, one.tool)


def _reference(one: Waiting) -> str:
    """What `--accept` and `--reject` take for exactly this definition."""
    return f"{_name(one)}@{one.digest[:12]}"
