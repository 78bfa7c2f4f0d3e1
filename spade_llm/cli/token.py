"""`spade-llm token`: creates, lists and revokes API tokens of a gateway.

A token is printed once, alone on standard output; the gateway keeps what recognises it.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import agent_file, data_directory
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.cli.terminal import sanitize_line
from spade_llm.core.errors import ConfigurationError
from spade_llm.gateway.database import DATABASE_FILE, gateway_database, open_gateway_database
from spade_llm.gateway.tokens import TokenStore
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid
from spade_llm.xmpp.servers.run_record import read_run_record

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from spade_llm.gateway.tokens import ApiToken

DAY_S = 86_400.0
MAX_DAYS = 36_500


def main(options: argparse.Namespace) -> int:
    home = _gateway_directory(options)
    with _tokens(home) as tokens:
        match options.action:
            case "create":
                return _create(tokens, home, options)
            case "list":
                return _list(tokens)
            case _:
                return _revoke(tokens, options.name)


def _gateway_directory(options: argparse.Namespace) -> Path:
    """The gateway's folder, which has its JID as a name."""
    data = data_directory(options)
    try:
        return agent_file(options.agent, DATABASE_FILE, data, what="gateway's state").parent
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}. A gateway has one once it was started") from None


@contextmanager
def _tokens(home: Path) -> Iterator[TokenStore]:
    database = gateway_database(home)
    open_gateway_database(database)
    try:
        yield TokenStore(database)
    finally:
        database.close()


def _create(tokens: TokenStore, home: Path, options: argparse.Namespace) -> int:
    principal = bare_jid(full_jid(options.principal.strip(), home.name.partition("@")[2]))
    if principal in _agent_jids(options, home):
        raise ConfigurationError(
            f"--principal: {principal} is an agent: name the person, or the program with an account"
            " of its own, whose sessions and memories they will be"
        )
    if options.days and options.days > MAX_DAYS:
        raise ConfigurationError(f"--days: at most {MAX_DAYS}; without it a token holds for good")
    expires = time.time() + options.days * DAY_S if options.days else None
    token = tokens.create(options.name, principal, is_admin=options.admin, expires=expires)
    print(token)
    rights = " with an administrator's rights" if options.admin else ""
    until = f" until {_date(expires)}" if expires else ""
    print(
        f"for {principal}{rights}{until}; shown only now. Send it as `Authorization: Bearer TOKEN`",
        file=sys.stderr,
    )
    return 0


def _agent_jids(options: argparse.Namespace, home: Path) -> frozenset[str]:
    """JIDs of the deployment's own: those of its files, those that run, those with data here."""
    folder = Path(options.agents) if options.agents else standard_deployment()
    described = read_deployment(folder, domain=home.name.partition("@")[2])
    record = read_run_record(data_directory(options))
    running = record.agents if record else ()
    here = (path.name for path in home.parent.iterdir())
    return frozenset(map(str.lower, (*(one.jid for one in described), *running, *here)))


def _list(tokens: TokenStore) -> int:
    for one in tokens.all():
        print(_line(one, time.time()))
    return 0


def _line(token: ApiToken, now_s: float) -> str:
    ends = "for good" if token.expires is None else f"until {_date(token.expires)}"
    if token.expires is not None and token.expires <= now_s:
        ends = f"expired {_date(token.expires)}"
    used = f"used {_date(token.used)}" if token.used else "never used"
    rights = "  admin" if token.is_admin else ""
    return f"{token.name:20} {sanitize_line(token.principal)}{rights}  {ends}  {used}"


def _revoke(tokens: TokenStore, name: str) -> int:
    if not tokens.revoke(name):
        raise ConfigurationError(f"no token is called {name!r}: see `spade-llm token list`")
    print(f"revoked {name}")
    return 0


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
