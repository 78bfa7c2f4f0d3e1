"""Main program of the embedded server's child process: listens, ends with its parent.

Uses pyjabber's streams but not its `Server`, which would also listen on the LAN address, for other
servers, and for an HTTP API without login, and would keep a pool of processes that hold the
sockets after its own death. The faults of the streams are mended in
xmpp/servers/embedded/stream.py.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger as pyjabber_logger
from pyjabber import AppConfig
from pyjabber.db.database import DB

from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.embedded.router import EmbeddedRouter
from spade_llm.xmpp.servers.embedded.store import DATABASE_NAME, EmbeddedStore
from spade_llm.xmpp.servers.embedded.stream import ClientProtocol
from spade_llm.xmpp.servers.server_process import loopback_addresses

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.certificates import Certificates

LOGIN_THREADS = 2
"""Passwords are hashed there, 30 ms each; hashlib lets the loop go on meanwhile."""
CLOSE_TIMEOUT_S = 2.0


def main() -> None:
    """Arguments: directory, domain, port."""
    directory, domain, port = sys.argv[1:]
    _log_to_stderr()
    asyncio.run(serve(Path(directory), domain, int(port)))


async def serve(directory: Path, domain: str, port: int) -> None:
    """Serve until SIGTERM, or until standard input ends because the parent has."""
    stopped = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stopped.set)
    _configure_pyjabber(directory, domain, local_certificates(directory / "certificates", domain))
    await DB.setup_database()
    store = EmbeddedStore(directory)
    router = EmbeddedRouter(domain, store)
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientProtocol(router), host=loopback_addresses(), port=port
    )
    watch = asyncio.create_task(_watch_parent(stopped))
    await stopped.wait()
    watch.cancel()
    server.close()
    store.close()
    await asyncio.wait_for(DB.close_engine_async(), CLOSE_TIMEOUT_S)


async def _watch_parent(stopped: asyncio.Event) -> None:
    """The parent holds our standard input open and never writes to it."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    stopped.set()


def _configure_pyjabber(directory: Path, domain: str, certificates: Certificates) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.cert_path, certificates.key_path)
    AppConfig.app_config = AppConfig.AppConfig(
        host=domain,
        ip=[],
        ssl_context=context,
        ssl_context_s2s=context,
        connection_timeout=0,
        family=socket.AF_INET,
        server_port=0,
        config_path="",
        cert_path=str(certificates.cert_path.parent),
        root_path=str(directory),
        database_path=str(directory / DATABASE_NAME),
        database_in_memory=False,
        database_purge=False,
        database_debug=False,
        # Ours keeps offline messages: pyjabber's come in the wrong order, or not at all.
        message_persistence=False,
        semaphore=asyncio.Semaphore(LOGIN_THREADS),
        # No processes: after a kill −9 pyjabber's workers hold the sockets.
        process_pool_exe=ThreadPoolExecutor(LOGIN_THREADS),
        verbose=False,
        plugins=[],
        items={},
    )


def _log_to_stderr() -> None:
    """Our parent keeps it in a file. At INFO there are no bodies; tracebacks show no values."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    pyjabber_logger.remove()
    # `diagnose` would write the values of variables into the log, passwords included.
    pyjabber_logger.add(sys.stderr, level="INFO", diagnose=False, backtrace=False)
