"""Chroma client: directory or server, deadlines, error translation, unused folders."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

import httpx

from spade_llm.core.errors import ConfigurationError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chromadb.api import ClientAPI
    from chromadb.api.client import Client

_Result = TypeVar("_Result")

_TIMEOUTS = httpx.Timeout(30.0, connect=3.0)
"""Timeouts of requests to a server, which stores a thousand vectors in half a second."""


def open_directory(directory: Path) -> Client:
    from chromadb.api.client import Client
    from chromadb.config import Settings

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Client(
        settings=Settings(
            is_persistent=True,
            persist_directory=str(directory),
            # chromadb reports usage to its maker unless telemetry is off.
            anonymized_telemetry=False,
        )
    )


def open_server(url: str) -> Client:
    """Open a Chroma server. Raises StorageFailed if it does not answer in time."""
    from chromadb.api.client import Client
    from chromadb.config import Settings

    at = check_url(url)
    # Asked first, because chromadb sets no deadline when it connects.
    httpx.get(at.join("/api/v2/heartbeat"), timeout=_TIMEOUTS).raise_for_status()
    client = Client(
        settings=Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=at.host,
            chroma_server_http_port=at.port or (443 if at.scheme == "https" else 80),
            chroma_server_ssl_enabled=at.scheme == "https",
            anonymized_telemetry=False,
        )
    )
    set_deadlines(client)
    return client


def check_url(url: str) -> httpx.URL:
    """Parse the URL of a Chroma server. Raises ConfigurationError."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"chroma_url {url!r} is no URL") from error
    if found.scheme not in ("http", "https") or not found.host or found.path not in ("", "/"):
        raise ConfigurationError(
            f"chroma_url {url!r} must be a server without a path, like http://127.0.0.1:8000"
        )
    return found


def translate_chroma_errors(call: Callable[[], _Result]) -> _Result:
    """Translate errors of Chroma, its server and the disk to StorageFailed."""
    from chromadb.errors import ChromaError

    try:
        return call()
    except httpx.HTTPError as error:
        raise StorageFailed("the Chroma server does not answer") from error
    except (ChromaError, OSError) as error:
        raise StorageFailed("the vector index could not be read or written") from error


def close_client(client: Client) -> None:
    """Close the client and its connections to a server, which chromadb leaves open."""
    sessions = _http_sessions(client)
    client.close()
    for session in sessions:
        session.close()


def set_deadlines(client: ClientAPI) -> None:
    """Set timeouts: chromadb (1.5.9, api/fastapi.py) has none, and no setting for them."""
    sessions = _http_sessions(client)
    if not sessions:
        raise ConfigurationError("this version of chromadb keeps its HTTP session elsewhere")
    for session in sessions:
        session.timeout = _TIMEOUTS
        session.event_hooks["response"].append(_raise_server_error)


def _http_sessions(client: ClientAPI) -> list[httpx.Client]:
    """HTTP sessions of a client and of its administration client; none for a directory."""
    # Private attributes; if a version of chromadb moves them, the start fails.
    servers = (vars(one)["_server"] for one in (client, vars(client)["_admin_client"]))
    found = (vars(server).get("_session") for server in servers)
    return [session for session in found if isinstance(session, httpx.Client)]


def _raise_server_error(response: httpx.Response) -> None:
    """Raise HTTPStatusError for server errors, for which chromadb raises a bare Exception."""
    if response.is_server_error:
        response.raise_for_status()


_SELECT_SEGMENTS = "SELECT id FROM segments"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def remove_unused_folders(directory: Path) -> None:
    """Remove the folders that no collection uses. Call it while no collection is created. If the
    folders in use cannot be determined, nothing is removed."""
    # chromadb 1.5.9 leaves the folder of a dropped collection for ever.
    path = directory / "chroma.sqlite3"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            used = {row[0] for row in connection.execute(_SELECT_SEGMENTS)}
    except sqlite3.Error:
        return
    for folder in directory.iterdir():
        if folder.is_dir() and _UUID.fullmatch(folder.name) and folder.name not in used:
            shutil.rmtree(folder, ignore_errors=True)
