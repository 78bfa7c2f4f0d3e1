"""`spade-llm tools ACTION`: what a tool agent offers, and what it was called for.

`list` asks the agent, by message, what the person may call. `log` reads the agent's own file, also
while it runs. `review` is in tools_review.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.cli.agent_data import kept_by
from spade_llm.cli.place import data_directory, find_place
from spade_llm.cli.plain import one_line
from spade_llm.cli.stopping import run_until_stopped
from spade_llm.errors import RequestError, SpadeLLMError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from spade_llm.tools import ToolSpec
    from spade_llm.tools.call_file import LoggedCall
    from spade_llm.tools.call_log import CallBegun

FOLDER = "calls"
"""Below the agent's data (agent/tools.py)."""
LIST_TIMEOUT_S = 10.0


def main(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            return run_until_stopped(_list(options))
        case "review":
            from spade_llm.cli.tools_review import review

            return review(options)
        case _:
            return _log(options)


async def _list(options: argparse.Namespace) -> int:
    from spade_llm.cli.person import logged_in, person_jid
    from spade_llm.services.status import ask_status
    from spade_llm.services.tools import ToolsClient

    place = find_place(options)
    jid = place.jid(options.agent)
    person = person_jid(options, place)
    async with logged_in(person, place) as agent:
        tools = ToolsClient(agent.node.requester, jid, timeout_s=LIST_TIMEOUT_S)
        try:
            specs = await tools.list()
            status = await ask_status(agent.node.requester, jid, timeout_s=LIST_TIMEOUT_S)
        except RequestError as error:
            raise SpadeLLMError(f"{jid} did not say what it offers: {error}") from error
    for spec in specs:
        print(_described(spec))
    if not specs:
        print(f"{jid} has no tool that {person} may call")
    for note in status.notes:
        print(f"note {one_line(note)}")
    return 0


def _described(spec: ToolSpec) -> str:
    mark = "ask " if spec.needs_approval else "    "
    return f"{mark}{one_line(spec.name):<28} {_first_line(spec.description)}"


def _first_line(text: str) -> str:
    return one_line(text.strip().partition("\n")[0])[:200]


def _log(options: argparse.Namespace) -> int:
    from spade_llm.tools.call_file import read_calls

    data = data_directory(options)
    folder = kept_by(options.agent, FOLDER, data, what="log of calls")
    for call in read_calls(folder, last=options.last, wanted=_wanted(options)):
        print(json.dumps(_fields(call)) if options.json else _line(call))
    return 0


def _wanted(options: argparse.Namespace) -> Callable[[CallBegun], bool]:
    def is_wanted(call: CallBegun) -> bool:
        is_tool = options.tool in (None, call.tool)
        return is_tool and options.caller in (None, call.caller, call.on_behalf_of)

    return is_wanted


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
    return one_line(f"{when}  {begun.tool}: {how}  ({who})  {begun.arguments}")
