"""Asks /health at a port of this machine until stdin ends: `python -m bench.health PORT`. Then it
says the times, in ms, as a line of JSON.

In a process of its own: in that of the chats it would time their client, too.
"""

from __future__ import annotations

import http.client
import json
import select
import sys
import time

PAUSE_S = 0.005
HEALTHY = {"status": "healthy"}


def times(port: int) -> list[float]:
    """Raises RuntimeError."""
    connection, found = http.client.HTTPConnection("127.0.0.1", port, timeout=60.0), list[float]()
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        began = time.perf_counter()
        connection.request("GET", "/health")
        answer = connection.getresponse().read()
        found.append((time.perf_counter() - began) * 1000)
        if json.loads(answer) != HEALTHY:
            raise RuntimeError(answer.decode())
    return found


if __name__ == "__main__":
    print("ready", flush=True)
    print(json.dumps(times(int(sys.argv[1]))), flush=True)
