"""The HTTP application: every route that there is, behind the layers that all share."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from spade_llm.gateway import routes
from spade_llm.gateway.console_files import mount_console
from spade_llm.gateway.description import DescribedApp
from spade_llm.gateway.errors import handle_errors
from spade_llm.gateway.front import Front
from spade_llm.gateway.gate import Gate
from spade_llm.gateway.reading import Reading
from spade_llm.gateway.repeating import Repeating

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from spade_llm.gateway.gateway import Gateway


def build_app(gateway: Gateway) -> FastAPI:
    """The routes, their errors and their description. `build_server_app` puts the layers around
    it, without which nobody is asking."""
    app = DescribedApp(gateway)
    handle_errors(app)
    for found in sorted(iter_modules(routes.__path__), key=lambda one: one.name):
        app.include_router(import_module(f"{routes.__name__}.{found.name}").router)
    if gateway.options.console:
        mount_console(app)
    return app


def build_server_app(gateway: Gateway) -> ASGIApp:
    """From the inside out: what is asked again, how much is read, who comes in, what all have."""
    inner = build_app(gateway)
    _build_routes(inner)
    app: ASGIApp = Repeating(inner, gateway.answers)
    app = Reading(app, gateway)
    app = Gate(app, gateway)
    return Front(app, gateway)


def _build_routes(app: FastAPI) -> None:
    """FastAPI does so when somebody first asks for one: all others would wait 0.1 s."""
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(dict(nowhere))
