"""`spade-llm account`: creates an account on the XMPP server of `up`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.cli.context import data_directory
from spade_llm.core.settings import variable
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.connection.settings import full_jid
from spade_llm.xmpp.servers.account_creation import create_account
from spade_llm.xmpp.servers.passwords import AccountPasswords
from spade_llm.xmpp.servers.run_record import read_run_record

if TYPE_CHECKING:
    import argparse


def main(options: argparse.Namespace) -> int:
    given = options.password_env
    password = variable(given, named_in="--password-env") if given else None
    data = data_directory(options)
    record = read_run_record(data)
    jid = bare_jid(full_jid(options.account.strip(), record.domain if record else "localhost"))
    asyncio.run(create_account(data, jid, password, is_reset=options.reset))
    print(f"{jid} can log in; its password is in {str(AccountPasswords(data).path(jid))!r}")
    return 0
