"""Where an agent logs in that was told no server: what the environment says, else the `up` that
runs on our data, else what its JID's domain says. Opens no stream.

Imports what it needs when it is asked: who names a server has none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.xmpp.connection import Connection

if TYPE_CHECKING:
    from spade_llm.deployment.run_record import RunRecord
    from spade_llm.settings import Environment


async def connection_here(jid: str, password: str) -> Connection:
    """SPADE_LLM_SERVER and SPADE_LLM_CA name a server; SPADE_LLM_REGISTER=1 makes the account.

    Raises:
        ConfigurationError: what is named is wrong, or the account cannot be made.
    """
    from spade_llm.deployment.address import parse_address
    from spade_llm.deployment.run_record import read_record
    from spade_llm.settings import read_environment
    from spade_llm.xmpp.server import ServerKind

    environment = read_environment()
    if environment.server not in list(ServerKind):
        host, port = parse_address(environment.server, named="SPADE_LLM_SERVER")
        return _connection(environment, host=host, port=port)
    record = read_record(_data(environment))
    if record is None or record.domain != jid.rpartition("@")[2]:
        return _connection(environment)
    return await _at(record, environment, jid, password)


async def _at(record: RunRecord, environment: Environment, jid: str, password: str) -> Connection:
    from spade_llm.deployment.new_account import is_known, make_account

    data = _data(environment)
    if environment.register_accounts and record.server and not await is_known(data, jid, record):
        await make_account(data, jid, password)
    return Connection(host=record.host, port=record.port, ca_path=record.ca)


def _connection(
    environment: Environment, *, host: str | None = None, port: int = 5222
) -> Connection:
    ca = Path(environment.ca).absolute() if environment.ca else None
    return Connection(host=host, port=port, ca_path=ca, register=environment.register_accounts)


def _data(environment: Environment) -> Path:
    return Path(environment.data).absolute()
