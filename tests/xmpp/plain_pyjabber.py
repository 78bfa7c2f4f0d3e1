"""Run as a script: pyjabber as it comes, on loopback. Arguments: directory, client and server port.

Only to show its faults (test_pyjabber_faults.py). `_public_ip` is what would be its LAN address.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pyjabber.server import Server
from pyjabber.server_parameters import Parameters

from spade_llm.xmpp.servers.certificates import local_certificates


def main(directory: Path, client_port: int, server_port: int) -> None:
    """Never returns."""
    certificates = local_certificates(directory, "localhost")
    (directory / "localhost_cert.pem").write_bytes(certificates.cert_path.read_bytes())
    (directory / "localhost_key.pem").write_bytes(certificates.key_path.read_bytes())
    asyncio.run(serve(directory, client_port, server_port))


async def serve(directory: Path, client_port: int, server_port: int) -> None:
    server = Server(
        Parameters(
            client_port=client_port,
            server_port=server_port,
            database_path=str(directory / "pyjabber.db"),
            cert_path=str(directory),
        )
    )
    (directory / "settings").write_text(f"{server._public_ip} {server._http_server}")
    server._public_ip = server._http_server = None
    await server.start()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
