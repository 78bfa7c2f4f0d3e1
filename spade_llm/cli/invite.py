"""`spade-llm invite`: creates, lists and revokes invitation codes for an agent.

It is for the operator, also while the agent runs. A code is shown once; only its hash is stored.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.cli.context import agent_file, data_directory
from spade_llm.cli.terminal import sanitize_line
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.invitations import FILES, MAX_INVITATIONS, Invitations

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

DAY_S = 86_400.0


def main(options: argparse.Namespace) -> int:
    with Invitations(_file(options)) as invitations:
        if options.list:
            return _list(invitations)
        if options.revoke:
            return _revoke(invitations, options.revoke)
        return _make(invitations, options)


def _file(options: argparse.Namespace) -> Path:
    try:
        data = data_directory(options)
        return agent_file(options.agent, FILES, data, what="file of invitations")
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}. An agent has one once it was started with a list of its own in its"
            " agent.toml ([admission] allow); without one it takes everybody"
        ) from None


def _make(invitations: Invitations, options: argparse.Namespace) -> int:
    stay_s = options.stay * DAY_S if options.stay else None
    code = invitations.make(
        uses=options.uses, lasts_s=options.days * DAY_S, stay_s=stay_s, note=options.note
    )
    if code is None:
        raise ConfigurationError(f"{MAX_INVITATIONS} invitations are open: revoke some (--list)")
    times = "once" if options.uses == 1 else f"{options.uses} times"
    print(f"join {code}\nSaid to {options.agent} {times} within {options.days} days, this lets in.")
    return 0


def _list(invitations: Invitations) -> int:
    for one in invitations.open_ones():
        note = f"  {sanitize_line(one.note)}" if one.note else ""
        print(f"open   {one.name}  until {_date(one.expires_at)}  {one.uses_left} left{note}")
    for guest in invitations.guests():
        until = "for good" if guest.until is None else f"until {_date(guest.until)}"
        print(f"guest  {sanitize_line(guest.jid)}  since {_date(guest.since)}  {until}")
    return 0


def _revoke(invitations: Invitations, name: str) -> int:
    if not invitations.revoke(name):
        raise ConfigurationError(f"no guest and no open invitation is called {name!r}: see --list")
    print(f"revoked {name}")
    return 0


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
