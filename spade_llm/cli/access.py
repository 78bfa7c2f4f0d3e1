"""`spade-llm account`, `invite` and `token`: who may log in, talk to an agent, use a gateway.

They are for the operator, also while the agents run. Invitation codes and tokens are shown once;
only their hashes are stored.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.cli.context import agent_directories, agent_place, data_directory
from spade_llm.cli.terminal import note, sanitize_line, show
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid
from spade_llm.xmpp.servers.data_directory import read_run_record

if TYPE_CHECKING:
    import argparse

    from spade_llm.gateway.tokens import TokenStore
    from spade_llm.xmpp.invitations import Invitations

DAY_S = 86_400.0
MAX_TOKEN_DAYS = 36_500


def main(options: argparse.Namespace) -> int:
    match options.command:
        case "account":
            return _account(options)
        case "invite":
            return asyncio.run(_invite(options))
        case _:
            return asyncio.run(_token(options))


def _account(options: argparse.Namespace) -> int:
    from spade_llm.core.settings import variable
    from spade_llm.xmpp.servers.data_directory import AccountPasswords, create_account

    given = options.password_env
    password = variable(given, named_in="--password-env") if given else None
    data = data_directory(options)
    record = read_run_record(data)
    jid = bare_jid(full_jid(options.account.strip(), record.domain if record else "localhost"))
    asyncio.run(create_account(data, jid, password, is_reset=options.reset))
    path = AccountPasswords(data).path(jid)
    made = {"jid": jid, "password_file": path}
    show(options, made, f"{jid} can log in; its password is in {str(path)!r}")
    return 0


async def _invite(options: argparse.Namespace) -> int:
    from spade_llm.xmpp.invitations import INVITATION_TABLES, Invitations

    hint = (
        ". An agent has one after its first start with an allow list of its own in its agent.toml"
        " ([admission] allow); without such a list it accepts everyone"
    )
    async with (
        agent_place(options, INVITATION_TABLES, what="file of invitations", hint=hint) as (
            _,
            place,
        ),
        Invitations(place) as invitations,
    ):
        if options.list:
            await _list_invitations(invitations, options)
        elif not options.revoke:
            await _create_invitation(invitations, options)
        elif await invitations.revoke(options.revoke):
            show(options, {"revoked": options.revoke}, f"revoked {options.revoke}")
        else:
            raise ConfigurationError(
                f"there is no guest and no open invitation named {options.revoke!r}: see --list"
            )
    return 0


async def _create_invitation(invitations: Invitations, options: argparse.Namespace) -> None:
    from spade_llm.xmpp.invitations import MAX_INVITATIONS

    code = await invitations.make(
        uses=options.uses,
        lasts_s=options.days * DAY_S,
        stay_s=options.stay * DAY_S if options.stay else None,
        note=options.note,
    )
    if code is None:
        raise ConfigurationError(
            f"limit reached ({MAX_INVITATIONS} open invitations): revoke some (see --list)"
        )
    times = "once" if options.uses == 1 else f"{options.uses} times"
    hint = (
        f"Give this line to a guest, who sends it to {options.agent} from a chat app. It works"
        f" {times}, for {pluralize(options.days, 'day')}."
    )
    record = {"code": code, "message": f"join {code}", "uses": options.uses, "days": options.days}
    show(options, record, (f"join {code}", hint))


async def _list_invitations(invitations: Invitations, options: argparse.Namespace) -> None:
    opened, guests = await invitations.open_ones(), await invitations.guests()
    if not opened and not guests:
        note(options, "no open invitations and no guests")
    for one in opened:
        why = f"  {sanitize_line(one.note)}" if one.note else ""
        text = f"open   {one.name}  until {_date(one.expires_at)}  {one.uses_left} left{why}"
        show(options, one, text)
    for guest in guests:
        until = "for good" if guest.until is None else f"until {_date(guest.until)}"
        text = f"guest  {sanitize_line(guest.jid)}  since {_date(guest.since)}  {until}"
        show(options, guest, text)


async def _token(options: argparse.Namespace) -> int:
    from spade_llm.gateway.gateway_database import GATEWAY_TABLES
    from spade_llm.gateway.tokens import TokenStore

    hint = ". A gateway has one after its first start"
    async with AsyncExitStack() as stack:
        place = agent_place(options, GATEWAY_TABLES, what="gateway's state", hint=hint)
        gateway, found = await stack.enter_async_context(place)
        database = GATEWAY_TABLES.at(found)
        await database.open()
        stack.push_async_callback(database.close)
        tokens = TokenStore(database)
        match options.action:
            case "create":
                await _create_token(tokens, gateway, options)
            case "list":
                await _list_tokens(tokens, options)
            case _:
                if not await tokens.revoke(options.name):
                    raise ConfigurationError(
                        f"there is no token named {options.name!r}: see `spade-llm token list`"
                    )
                show(options, {"revoked": options.name}, f"revoked {options.name}")
    return 0


async def _create_token(tokens: TokenStore, gateway: str, options: argparse.Namespace) -> None:
    """Print the token alone on standard output, for scripts."""
    domain = gateway.partition("@")[2]
    principal = bare_jid(full_jid(options.principal.strip(), domain))
    if principal in _agent_jids(options, domain):
        raise ConfigurationError(
            f"--principal: {principal} is an agent: name the person or program that will own the"
            " sessions and memories"
        )
    if options.days and options.days > MAX_TOKEN_DAYS:
        raise ConfigurationError(
            f"--days: at most {MAX_TOKEN_DAYS}; without it, the token does not expire"
        )
    expires = time.time() + options.days * DAY_S if options.days else None
    token = await tokens.create(options.name, principal, is_admin=options.admin, expires=expires)
    record = {"name": options.name, "token": token, "principal": principal, "expires": expires}
    show(options, record, token)
    rights = " with an administrator's rights" if options.admin else ""
    until = f" until {_date(expires)}" if expires else ""
    print(
        f"for {principal}{rights}{until}; shown only now. Send it as `Authorization: Bearer TOKEN`",
        file=sys.stderr,
    )


def _agent_jids(options: argparse.Namespace, domain: str) -> frozenset[str]:
    """JIDs of the deployment's agents: described in its files, running, or with data here."""
    from spade_llm.cli.factory.deployment_spec import agents_folder, read_deployment

    described = read_deployment(agents_folder(options), domain=domain)
    record = read_run_record(data_directory(options))
    running = record.agents if record else ()
    here = (path.name for path in agent_directories(data_directory(options)))
    return frozenset(map(str.lower, (*(one.jid for one in described), *running, *here)))


async def _list_tokens(tokens: TokenStore, options: argparse.Namespace) -> None:
    now_s = time.time()
    known = await tokens.all()
    if not known:
        note(options, "no tokens")
    for one in known:
        ends = "for good" if one.expires is None else f"until {_date(one.expires)}"
        if one.expires is not None and one.expires <= now_s:
            ends = f"expired {_date(one.expires)}"
        used = f"used {_date(one.used)}" if one.used else "never used"
        rights = "  admin" if one.is_admin else ""
        text = f"{one.name:20} {sanitize_line(one.principal)}{rights}  {ends}  {used}"
        show(options, one, text)


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
