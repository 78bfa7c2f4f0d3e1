"""`spade-llm account JID`: an account on the server that `up` runs, for a program or a person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.cli.place import data_directory
from spade_llm.deployment.accounts import Accounts
from spade_llm.deployment.address import full_jid
from spade_llm.deployment.new_account import make_account
from spade_llm.deployment.run_record import read_record
from spade_llm.settings import variable
from spade_llm.xmpp.jids import bare_jid

if TYPE_CHECKING:
    import argparse


def main(options: argparse.Namespace) -> int:
    given = options.password_env
    password = variable(given, named_in="--password-env") if given else None
    data = data_directory(options)
    record = read_record(data)
    jid = bare_jid(full_jid(options.account.strip(), record.domain if record else "localhost"))
    asyncio.run(make_account(data, jid, password, is_reset=options.reset))
    print(f"{jid} can log in; its password is in {str(Accounts(data).path(jid))!r}")
    return 0
