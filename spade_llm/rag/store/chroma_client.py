"""Chroma client: directory or server, deadlines, error translation, unused folders."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

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
    """Raises ConfigurationError."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"chroma_url {url!r} is no URL") from error
    if found.scheme not in ("http", "https") or not found.host or found.path not in ("", "/"):
        raise ConfigurationError(
            f"chroma_url {url!r} must be like http://127.0.0.1:8000: the server, and no path"
        )
    return found


def translate_chroma_errors(call: Callable[[], _Result]) -> _Result:
    """Errors of Chroma, of its server and of the disk become StorageFailed."""
    from chromadb.errors import ChromaError

    try:
        return call()
    except httpx.HTTPError as error:
        raise StorageFailed("the Chroma server does not answer") from error
    except (ChromaError, OSError) as error:
        raise StorageFailed("the vector index could not be read or written") from error


def close_client(client: Client) -> None:
    """chromadb itself leaves the connections to a server open."""
    sessions = _http_sessions(client)
    client.close()
    for session in sessions:
        session.close()


def set_deadlines(client: ClientAPI) -> None:
    """chromadb (1.5.9, api/fastapi.py) waits for ever and has no setting for it."""
    sessions = _http_sessions(client)
    if not sessions:
        raise ConfigurationError("this version of chromadb keeps its HTTP session elsewhere")
    for session in sessions:
        session.timeout = _TIMEOUTS
        session.event_hooks["response"].append(_raise_server_error)


def _http_sessions(client: ClientAPI) -> list[httpx.Client]:
    """Its own, and that of the client for administration that it makes; none in a directory."""
    # Private attributes; if a version of chromadb moves them, the start fails.
    servers = (vars(one)["_server"] for one in (client, vars(client)["_admin_client"]))
    found = (vars(server).get("_session") for server in servers)
    return [session for session in found if isinstance(session, httpx.Client)]


def _raise_server_error(response: httpx.Response) -> None:
    """chromadb would raise a bare Exception for what it does not know."""
    if response.is_server_error:
        response.raise_for_status()


_SELECT_SEGMENTS = "SELECT id FROM segments"


def remove_unused_folders(directory: Path) -> None:
    """Remove the folders that no collection uses. Call it while no collection is created. If the
    folders in use cannot be determined, nothing is removed."""
    # chromadb 1.5.9 leaves the folder of a dropped collection for ever.
    used = _used_segment_ids(directory / "chroma.sqlite3")
    for folder in directory.iterdir():
        if (
            used is not None
            and folder.is_dir()
            and _is_segment_id(folder.name)
            and folder.name not in used
        ):
            shutil.rmtree(folder, ignore_errors=True)


def _used_segment_ids(path: Path) -> frozenset[str] | None:
    """Read the ids of the segments in use; None if they cannot be determined."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return frozenset(row[0] for row in connection.execute(_SELECT_SEGMENTS))
    except sqlite3.Error:
        return None


def _is_segment_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
