"""Makes accounts on the server that runs on a data directory, from outside. Knows no agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.deployment.accounts import Accounts
from spade_llm.deployment.run_record import read_record
from spade_llm.errors import ConfigurationError
from spade_llm.xmpp.server import choose_server

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.deployment.run_record import RunRecord


async def make_account(data: Path, jid: str, password: str | None = None) -> str:
    """Make the account, or give it this password; returns the password, which is kept with those
    of our other accounts. None: the one that is kept, or a new one.

    Raises:
        ConfigurationError: no server of ours runs on this data, or it refuses.
    """
    record = _own_server(data, read_record(data))
    accounts = Accounts(data)
    password = password or accounts.get_or_make(jid)
    server = choose_server(record.server, data, domain=record.domain)
    await server.create_account(jid, password)
    accounts.keep(jid, password)
    return password


def is_known(data: Path, jid: str, record: RunRecord) -> bool:
    """Whether the account was made before, by `up` or by us."""
    return jid in (*record.agents, record.person) or Accounts(data).find(jid) is not None


def _own_server(data: Path, record: RunRecord | None) -> RunRecord:
    if record is not None and record.server:
        return record
    what = "`spade-llm up` there uses somebody else's server" if record else "nothing runs there"
    raise ConfigurationError(
        f"no server of ours for the data in {str(data)!r}: {what}; start `spade-llm up`, name its"
        " directory with --data, or make the account with the other server's own tools"
    )
