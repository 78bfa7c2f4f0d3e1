"""The console's files at /console: no build, no outside resources, nothing inline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Message, Receive, Scope, Send

FOLDER = Path(__file__).parent / "console"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'none'"
)
"""`blob:` is for what the page makes itself, such as an export."""


def mount_console(app: FastAPI) -> None:
    app.add_route("/console", _to_folder, methods=["GET"], include_in_schema=False)
    app.mount("/console", _Console(directory=FOLDER, html=True))


async def _to_folder(_request: object) -> RedirectResponse:
    return RedirectResponse("/console/", status_code=307)


class _Console(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_page(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = CSP
                headers["Cache-Control"] = "no-cache"
            await send(message)

        await super().__call__(scope, receive, send_page)
