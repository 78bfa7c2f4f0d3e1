"""A strict local Ollama: its own API (list, download, loaded models) beside OpenAI's protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic import ConfigDict, ValidationError

from tests.openai_rules import Strict
from tests.openai_server import OpenAIServer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

LAYERS = (("sha256:aaa", 4_000_000), ("sha256:bbb", 1_000))
"""Digest and size of what a model consists of."""


class PullRequest(Strict):
    model_config = ConfigDict(extra="forbid", strict=True)

    model: str
    stream: bool = True
    insecure: bool = False


class OllamaServer(OpenAIServer):
    """Answers for the models that it has; others can be downloaded if they are in its library."""

    def __init__(self, *models: str, library: Sequence[str] = ()) -> None:
        super().__init__()
        self.installed = list(models)
        self.library = set(library)
        self.context_length = 4096
        self.pulled: list[str] = []
        """Models that were asked for, in order."""
        self.gate: asyncio.Event | None = None
        """A download stops at its half until this is set."""
        self.breaks_off = False
        """A download ends at its half, as when the network is lost."""

    @property
    def url(self) -> str:
        """As in OLLAMA_HOST."""
        return self.base_url.removesuffix("/v1")

    def app(self) -> web.Application:
        app = super().app()
        app.router.add_get("/api/tags", self._tags)
        app.router.add_get("/api/ps", self._loaded)
        app.router.add_post("/api/pull", self._pull)
        return app

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        wanted = json.loads(await request.read()).get("model", "")
        if _tagged(wanted) not in self.installed:
            error = {"message": f'model "{wanted}" not found', "type": "not_found_error"}
            body = {"error": {**error, "param": None, "code": None}}
            return web.json_response(body, status=404)
        return await super()._completion(request)

    async def _tags(self, _request: web.Request) -> web.StreamResponse:
        entries = [{"name": name, "model": name, "size": 1} for name in self.installed]
        return web.json_response({"models": entries})

    async def _loaded(self, _request: web.Request) -> web.StreamResponse:
        entries = [
            {"name": name, "model": name, "context_length": self.context_length}
            for name in self.installed
        ]
        return web.json_response({"models": entries})

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        try:
            wanted = PullRequest.model_validate_json(await request.read())
        except ValidationError as error:
            return web.json_response({"error": str(error)}, status=400)
        self.pulled.append(wanted.model)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        await _write(response, status="pulling manifest")
        if wanted.model not in self.library:
            await _write(response, error="pull model manifest: file does not exist")
            return response
        for digest, total in LAYERS:
            layer = {"status": f"pulling {digest[7:]}", "digest": digest, "total": total}
            await _write(response, **layer)
            await _write(response, **layer, completed=total // 2)
            if self.gate is not None:
                await self.gate.wait()
            if self.breaks_off:
                return response
            await _write(response, **layer, completed=total)
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            await _write(response, status=status)
        self.installed.append(_tagged(wanted.model))
        return response


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


async def _write(response: web.StreamResponse, **fields: object) -> None:
    await response.write(json.dumps(fields).encode() + b"\n")
