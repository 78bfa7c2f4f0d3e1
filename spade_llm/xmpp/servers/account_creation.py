"""Account creation on the server that runs on a data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import bare_jid
from spade_llm.xmpp.servers.managed_server import choose_server
from spade_llm.xmpp.servers.passwords import AccountPasswords, new_password
from spade_llm.xmpp.servers.run_record import read_run_record

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import ManagedServer
    from spade_llm.xmpp.servers.run_record import RunRecord


async def create_account(
    data: Path, jid: str, password: str | None = None, *, is_reset: bool = False
) -> str:
    """Make the account with this password, else the kept one, else a new one; return the
    password, which is kept with those of our other accounts. `is_reset`: an account that exists
    gets the password, else a new one.

    An agent that runs reads the kept password when it logs in again.

    Raises:
        ConfigurationError: no server of ours runs on this data, or it refuses, or the account
            exists and is not to be reset.
    """
    record = _own_server(data, read_run_record(data))
    jid, accounts = bare_jid(jid), AccountPasswords(data)
    is_agent = jid in map(bare_jid, record.agents)
    if not is_reset and await account_exists(data, jid, record):
        what = "is an agent" if is_agent else "has an account already"
        raise ConfigurationError(f"{jid} {what}: --reset gives it a new password")
    if is_agent and accounts.find(jid) is None:
        raise ConfigurationError(
            f"{jid} has its password from its agent.toml: change it there, and start `up` again"
        )
    password = password or (new_password() if is_reset else accounts.get_or_make(jid))
    await _server(data, record).create_account(jid, password)
    return accounts.keep(jid, password)


async def account_exists(data: Path, jid: str, record: RunRecord) -> bool:
    """True if the account belongs to `up` or exists on its server."""
    if bare_jid(jid) in map(bare_jid, (*record.agents, record.person)):
        return True
    return await _server(data, record).has_account(jid)


def _server(data: Path, record: RunRecord) -> ManagedServer:
    return choose_server(record.server, data, domain=record.domain)


def _own_server(data: Path, record: RunRecord | None) -> RunRecord:
    if record is not None and record.server:
        return record
    what = "`spade-llm up` there uses somebody else's server" if record else "nothing runs there"
    raise ConfigurationError(
        f"no server of ours for the data in {str(data)!r}: {what}; start `spade-llm up`, name its"
        " directory with --data, or make the account with the other server's own tools"
    )
