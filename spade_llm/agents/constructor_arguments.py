"""Default connection of agents: environment variables, or the running local network."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.xmpp.connection.settings import ConnectionSettings

if TYPE_CHECKING:
    from spade_llm.core.settings import Environment
    from spade_llm.xmpp.servers.data_directory import RunRecord


async def default_connection(jid: str, password: str) -> ConnectionSettings:
    """SPADE_LLM_SERVER and SPADE_LLM_CA name a server; SPADE_LLM_REGISTER=1 makes the account.

    Raises:
        ConfigurationError: what is named is wrong, or the account cannot be made.
    """
    from spade_llm.core.settings import read_environment
    from spade_llm.xmpp.connection.settings import parse_address
    from spade_llm.xmpp.servers.data_directory import read_run_record
    from spade_llm.xmpp.servers.managed_server import ServerKind

    environment = read_environment()
    if environment.server not in list(ServerKind):
        host, port = parse_address(environment.server, named="SPADE_LLM_SERVER")
        return _connection(environment, host=host, port=port)
    record = read_run_record(_data(environment))
    if record is None or record.domain != jid.rpartition("@")[2]:
        return _connection(environment)
    return await _connection_to_local_network(record, environment, jid, password)


async def _connection_to_local_network(
    record: RunRecord, environment: Environment, jid: str, password: str
) -> ConnectionSettings:
    from spade_llm.xmpp.servers.data_directory import account_exists, create_account

    data = _data(environment)
    if (
        environment.register_accounts
        and record.server
        and not await account_exists(data, jid, record)
    ):
        await create_account(data, jid, password)
    return ConnectionSettings(host=record.host, port=record.port, ca_path=record.ca)


def _connection(
    environment: Environment, *, host: str | None = None, port: int = 5222
) -> ConnectionSettings:
    ca = Path(environment.ca).absolute() if environment.ca else None
    return ConnectionSettings(
        host=host, port=port, ca_path=ca, register=environment.register_accounts
    )


def _data(environment: Environment) -> Path:
    return Path(environment.data).absolute()


logger = logging.getLogger(__name__)


_said: set[str] = set()


def warn_about_verify_security(jid: str, *, verify_security: bool | None) -> None:
    """Says once per account that it is not left out."""
    if verify_security is False and jid not in _said:
        _said.add(jid)
        logger.warning(
            "%s: verify_security=False has no effect: certificates are always verified;"
            " SPADE_LLM_CA names the CA of a server of your own",
            jid,
        )
