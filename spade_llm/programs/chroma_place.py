"""Opens the Chroma that a program names: its own client, a server, a directory, or RAM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.rag.chroma_client import set_deadlines

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import Settings

    from spade_llm.programs.chroma import ChromaKeywords

SERVER_PORT = 8000


def open_client(keywords: ChromaKeywords) -> ClientAPI:
    """Blocking. Raises what chromadb raises."""
    from chromadb.config import Settings

    if client := keywords.get("client"):
        return client
    settings = keywords.get("client_settings") or Settings(anonymized_telemetry=False)
    return _at_place(keywords, settings)


def _at_place(keywords: ChromaKeywords, settings: Settings) -> ClientAPI:
    import chromadb
    from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT

    tenant = keywords.get("tenant") or DEFAULT_TENANT
    database = keywords.get("database") or DEFAULT_DATABASE
    if directory := keywords.get("persist_directory"):
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
        return chromadb.PersistentClient(directory, settings, tenant, database)
    if host := keywords.get("host"):
        return _on_server(host, keywords, settings, tenant, database)
    return chromadb.EphemeralClient(settings, tenant, database)


def _on_server(
    host: str, keywords: ChromaKeywords, settings: Settings, tenant: str, database: str
) -> ClientAPI:
    import chromadb

    client = chromadb.HttpClient(
        host,
        keywords.get("port") or SERVER_PORT,
        keywords.get("ssl", False),
        dict(keywords.get("headers") or {}),
        settings,
        tenant,
        database,
    )
    set_deadlines(client)
    return client
