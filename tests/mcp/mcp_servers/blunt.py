"""A streamable HTTP server written by hand, for answers that the SDK would not give: `PORT`.

One tool `work`; its argument `how` says what is answered: `well`, `large`, `packed`, `status`.
"""

from __future__ import annotations

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = {"name": "work", "description": "Work.", "inputSchema": {"type": "object"}}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "blunt", "version": "1"},
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match request.get("method"):
            case "initialize":
                self._answer(request, HELLO)
            case "tools/list":
                self._answer(request, {"tools": [TOOL]})
            case "tools/call":
                self._work(request, request["params"]["arguments"]["how"])
            case _ if "id" in request:
                error = {"code": -32601, "message": "unknown"}
                self._send(200, {"jsonrpc": "2.0", "id": request["id"], "error": error})
            case _:
                self._send(202, None)

    def do_GET(self) -> None:
        self._send(405, None)

    def do_DELETE(self) -> None:
        self._send(405, None)

    def _work(self, request: dict[str, Any], how: str) -> None:
        text = "x" * 8_000_000 if how == "large" else "done"
        result = {"content": [{"type": "text", "text": text}]}
        if how == "status":
            self._send(503, None)
        else:
            self._answer(request, result, is_packed=how == "packed")

    def _answer(
        self, request: dict[str, Any], result: dict[str, Any], *, is_packed: bool = False
    ) -> None:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self._send(200, message, is_packed=is_packed)

    def _send(
        self, status: int, message: dict[str, Any] | None, *, is_packed: bool = False
    ) -> None:
        body = b"" if message is None else json.dumps(message).encode()
        body = gzip.compress(body) if is_packed else body
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if is_packed:
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
