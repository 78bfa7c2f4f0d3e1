"""`spade-llm tools`: lists tools, shows the call log, reviews changed MCP tools."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from spade_llm.cli.context import agent_file, agent_files, data_directory, find_context
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import note, sanitize_line, show, warn
from spade_llm.core.errors import ConfigurationError, RequestError, SpadeLLMError
from spade_llm.mcp.client.pins import PINS_FILE, PendingDefinition, Pins, offered_name, side_by_side

if TYPE_CHECKING:
    import argparse

    from spade_llm.messaging import RequestSender
    from spade_llm.messaging.agent_status import AgentStatus
    from spade_llm.tools.call_log import CallStarted, LoggedCall

CALL_LOG_FOLDER = "calls"
"""Below the agent's data (agents/tools.py)."""
LIST_TIMEOUT_S = 10.0
START_TIMEOUT_S = 30.0
"""Maximum wait for MCP servers that start: some download their program first."""
START_POLL_S = 0.2

QUESTION = "accept it? [y]es, [n]o, never; anything else: later > "


def main(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            return run_until_stopped(_list(options))
        case "review":
            return review(options)
        case _:
            return _log(options)


def review(options: argparse.Namespace) -> int:
    data = data_directory(options)
    pins = Pins(agent_file(options.agent, PINS_FILE, data, what="list of MCP tools"))
    waiting = pins.waiting()
    if options.accept or options.reject:
        return _decide(pins, waiting, options)
    shown = [one for one in waiting if options.all or not one.is_rejected]
    for one in shown:
        show(options, {"name": _reference(one), **asdict(one)}, _change_lines(one))
        if sys.stdin.isatty() and not options.json:
            _ask_decision(pins, one)
    note(options, _summary(waiting, shown))
    return 0


def _log(options: argparse.Namespace) -> int:
    from spade_llm.tools.call_log import read_calls

    data = data_directory(options)
    folders = agent_files(options.agent, CALL_LOG_FOLDER, data, what="log of calls")

    def is_wanted(call: CallStarted) -> bool:
        is_tool = options.tool in (None, call.tool)
        return is_tool and options.caller in (None, call.caller, call.on_behalf_of)

    calls = [
        one for each in folders for one in read_calls(each, last=options.last, wanted=is_wanted)
    ]
    calls = sorted(calls, key=lambda one: one.begun.at)[-options.last :]
    if not calls:
        note(options, "no calls")
    for call in calls:
        show(options, _fields(call), _line(call))
    return 0


async def _list(options: argparse.Namespace) -> int:
    from spade_llm.cli.context import login, person_jid
    from spade_llm.tools.remote import ToolsClient

    cli_context = find_context(options)
    jid = cli_context.jid(options.agent)
    person = person_jid(options, cli_context)
    async with login(person, cli_context) as agent:
        tools = ToolsClient(agent.node.requester, jid, timeout_s=LIST_TIMEOUT_S)
        try:
            status = await _status_when_started(agent.node.requester, jid)
            specs = await tools.list()
        except RequestError as error:
            raise SpadeLLMError(f"{jid} did not list its tools: {error}") from error
    for spec in specs:
        mark = "ask " if spec.needs_approval else "    "
        summary = sanitize_line(spec.description.strip().partition("\n")[0])[:200]
        show(options, spec, f"{mark}{sanitize_line(spec.name):<28} {summary}")
    if not specs:
        note(options, f"{jid} has no tool that {person} may call")
    for text in status.notes:
        note(options, f"note {sanitize_line(text)}")
    return 0


async def _status_when_started(requester: RequestSender, jid: str) -> AgentStatus:
    """Status of the tool agent once its MCP servers have started or failed, or at the deadline."""
    from spade_llm.messaging.agent_status import ask_status
    from spade_llm.tools.toolbox import STARTING

    deadline = time.monotonic() + START_TIMEOUT_S
    waits = False
    while True:
        status = await ask_status(requester, jid, timeout_s=LIST_TIMEOUT_S)
        names = status.facts.get(STARTING)
        if not names or time.monotonic() >= deadline:
            return status
        if not waits:
            warn(f"waiting for MCP servers that are starting: {sanitize_line(names)}")
        waits = True
        await asyncio.sleep(START_POLL_S)


def _fields(call: LoggedCall) -> dict[str, object]:
    begun, ended = call.begun, call.ended
    return {
        "at": begun.at.isoformat(),
        "caller": begun.caller,
        "on_behalf_of": begun.on_behalf_of,
        "approved_by": begun.approved_by,
        "tool": begun.tool,
        "arguments": begun.arguments,
        "outcome": ended.outcome if ended else None,
        "duration_ms": ended.duration_ms if ended else None,
        "result_chars": ended.result_chars if ended else None,
    }


def _line(call: LoggedCall) -> str:
    begun, ended = call.begun, call.ended
    who = begun.caller
    who += f" for {begun.on_behalf_of}" if begun.on_behalf_of else ""
    who += f", approved by {begun.approved_by}" if begun.approved_by else ""
    how = f"{ended.outcome}, {ended.duration_ms:.0f} ms" if ended else "not ended"
    when = begun.at.astimezone().isoformat(sep=" ", timespec="seconds")
    return sanitize_line(f"{when}  {begun.tool}: {how}  ({who})  {begun.arguments}")


def _decide(pins: Pins, waiting: Sequence[PendingDefinition], options: argparse.Namespace) -> int:
    decisions = ((options.accept, True), (options.reject, False))
    chosen = [
        (one, is_accepted)
        for names, is_accepted in decisions
        for name in names or ()
        for one in _find_pending(waiting, name, options)
    ]
    for one, is_accepted in chosen:
        text = _record_decision(pins, one, is_accepted=is_accepted)
        show(options, {"name": _reference(one), "is_accepted": is_accepted}, text)
    return 0


def _find_pending(
    waiting: Sequence[PendingDefinition], wanted: str, options: argparse.Namespace
) -> list[PendingDefinition]:
    """Definitions named by `NAME@DIGEST`, as shown, or by NAME alone; the latter are shown now."""
    # The digest: a server may change the definition between review and decision.
    name, _, digest = wanted.partition("@")
    found = [one for one in waiting if name in (_name(one), one.server)]
    if not found:
        names = ", ".join(map(_name, waiting))
        raise ConfigurationError(f"{name!r} does not wait for review; waiting: {names or 'none'}")
    if any(not one.digest.startswith(digest) for one in found):
        raise ConfigurationError(f"{name!r} has changed since it was shown: review it again")
    for one in found if not digest else ():
        note(options, "\n".join(_change_lines(one)))
    return found


def _record_decision(pins: Pins, one: PendingDefinition, *, is_accepted: bool) -> str:
    """Record the decision, and return the line that says so."""
    (pins.accept if is_accepted else pins.reject)(one)
    return f"{'accepted' if is_accepted else 'rejected':11} {_reference(one)}"


def _change_lines(one: PendingDefinition) -> list[str]:
    kind = "rejected" if one.is_rejected else "changed" if one.accepted else "new"
    width = shutil.get_terminal_size((120, 24)).columns
    changes = side_by_side(one.accepted, one.offered, width=width)
    head = f"{_reference(one)}: {kind} since {one.since}"
    return [head, *(f"  {line}" for line in changes), ""]


def _ask_decision(pins: Pins, one: PendingDefinition) -> None:
    try:
        answer = input(QUESTION).strip().lower()
    except EOFError:
        answer = ""
    match answer:
        case "y" | "yes":
            print(_record_decision(pins, one, is_accepted=True))
        case "n" | "no":
            print(_record_decision(pins, one, is_accepted=False))
        case _:
            print(f"{'later':11} {_name(one)}")


def _summary(waiting: Sequence[PendingDefinition], shown: Sequence[PendingDefinition]) -> str:
    hidden = len(waiting) - len(shown)
    rejected = f"; {hidden} rejected (--all shows them)" if hidden else ""
    return f"{len(shown)} definitions were waiting for review{rejected}"


def _name(one: PendingDefinition) -> str:
    return offered_name(one.server, one.tool)


def _reference(one: PendingDefinition) -> str:
    """Reference that names exactly this definition in `--accept` and `--reject`."""
    return f"{_name(one)}@{one.digest[:12]}"
