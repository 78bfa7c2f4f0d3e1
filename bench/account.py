"""Who a process of a benchmark is and where it finds what it needs; travels as JSON on stdin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from spade_llm.agents import AgentOptions, ConnectionSettings
from spade_llm.core.database import DatabaseUrl

DOMAIN = "localhost"
MEMORY, RAG, TOOLS = f"memory@{DOMAIN}", f"rag@{DOMAIN}", f"tools@{DOMAIN}"
KEEPER = f"keeper@{DOMAIN}"
"""A second memory agent."""
GATEWAY = f"gateway@{DOMAIN}"


class Account(BaseModel):
    model_config = ConfigDict(frozen=True)

    jid: str
    password: str
    port: int
    other_ports: tuple[int, ...] = ()
    """Of further nodes of the server."""
    ca_path: Path
    data: Path
    """A directory of its own."""

    @property
    def connection(self) -> ConnectionSettings:
        others = tuple(("127.0.0.1", port) for port in self.other_ports)
        return ConnectionSettings(
            host="127.0.0.1", port=self.port, others=others, ca_path=self.ca_path
        )

    @property
    def options(self) -> AgentOptions:
        return AgentOptions(connection=self.connection, data=self.data, gateways=(GATEWAY,))


class Audience(BaseModel):
    model_config = ConfigDict(frozen=True)

    port: int
    ca_path: Path
    passwords: dict[str, str]
    """By bare JID."""


class Part(BaseModel):
    """What one process is to do."""

    model_config = ConfigDict(frozen=True)

    account: Account
    model_url: str = ""
    most_calls: int = 0
    """Of the model that may run at once; 0: as many as usual."""
    database_url: str = ""
    """PostgreSQL of an assistant's small databases; empty: files."""
    is_replica: bool = False
    """The assistant is one of several processes of its account."""
    is_traced: bool = False
    """The assistant writes what it does with each request into its folder."""
    has_services: bool = False
    """The assistant uses memory@, rag@ and tools@."""
    http_port: int = 0
    """Where a gateway, or what it is compared with, listens."""
    assistant: str = ""
    """Bare JID of the one that a gateway asks."""
    person: str = ""
    """Bare JID that a gateway asks it for."""

    @property
    def options(self) -> AgentOptions:
        """The account's, with the database."""
        database = DatabaseUrl(self.database_url) if self.database_url else None
        return replace(self.account.options, database=database, is_replica=self.is_replica)
