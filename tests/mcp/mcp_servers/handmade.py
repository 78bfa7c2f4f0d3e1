"""A server over stdio written by hand, without the SDK: `handmade.py [NOTE]`.

It answers every line, also those that want no answer; into the file NOTE goes its process id.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

NUMBER = {"type": "number"}
TOOLS = [
    {
        "name": "multiply",
        "description": "Multiply two numbers",
        "inputSchema": {
            "type": "object",
            "properties": {"a": NUMBER, "b": NUMBER},
            "required": ["a", "b"],
        },
    },
    {"name": "greeting", "description": "Says hello", "inputSchema": {"type": "object"}},
]
HELLO = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "handmade", "version": "1"},
}


def result_of(request: dict[str, Any]) -> dict[str, Any]:
    match request.get("method"):
        case "initialize":
            return {"result": HELLO}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call":
            return called(request["params"])
    return {"error": {"code": -1, "message": "unknown method"}}


def called(params: dict[str, Any]) -> dict[str, Any]:
    try:
        text = str(work(params["name"], params.get("arguments") or {}))
    except KeyError as error:
        return {"error": {"code": -1, "message": f"missing: {error}"}}
    return {"result": {"content": [{"type": "text", "text": text}]}}


def work(tool: str, arguments: dict[str, Any]) -> object:
    if tool == "multiply":
        return arguments["a"] * arguments["b"]
    return f"hello {os.environ.get('GREETED', 'world')}"


if __name__ == "__main__":
    if sys.argv[1:]:
        with Path(sys.argv[1]).open("a", encoding="utf-8") as note:
            note.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"jsonrpc": "2.0", "id": request.get("id"), **result_of(request)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
