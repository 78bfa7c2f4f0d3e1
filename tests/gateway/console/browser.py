"""The console in a real Chromium, against a real gateway.

async def test_…(console: Console) -> None:
    await console.open("memory")                        # as the local principal
    await console.page.get_by_role("button", name="Forget").click()
"""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

import pytest
from playwright.async_api import async_playwright

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from playwright.async_api import Browser, ConsoleMessage, Error, Page

CHROMIUM = "chromium"
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
START_MS = 100_000
WAIT_MS = 45_000
"""For what a page is to show: two busy cores take their time."""


class Look(TypedDict, total=False):
    """Of a browser's window, as playwright calls it."""

    locale: str
    color_scheme: str
    viewport: dict[str, int]
    reduced_motion: str
    extra_http_headers: dict[str, str]


@dataclass(slots=True, kw_only=True)
class Console:
    page: Page
    url: str
    """Of the console."""
    problems: list[str] = field(default_factory=list)
    """Errors that no code of the page dealt with, and what its security policy refused."""

    async def open(self, view: str, *arguments: str) -> None:
        """A new page at this view: nothing but storage is left of the one before."""
        await self.page.goto("about:blank")
        await self.show(view, *arguments)

    async def show(self, view: str, *arguments: str) -> None:
        """The view, in the page that is open."""
        await self.page.goto(f"{self.url}#/{'/'.join((view, *arguments))}")
        await self.page.locator(f".view-{view}").wait_for()

    async def use_session(self, session: str) -> None:
        """The conversation that is open; for the next `open`."""
        script = f"sessionStorage.setItem('console.session', JSON.stringify({session!r}))"
        await self.page.goto(self.url)
        await self.page.evaluate(script)


@dataclass(slots=True, kw_only=True)
class Consoles:
    """Windows of one browser; each has storage of its own."""

    browser: Browser
    url: str
    opened: list[Console] = field(default_factory=list)

    async def new(self, **look: Unpack[Look]) -> Console:
        context = await self.browser.new_context(**{"locale": "en-GB", **look})  # type: ignore[arg-type]
        context.set_default_timeout(WAIT_MS)
        console = Console(page=await context.new_page(), url=self.url)
        _collect(console)
        self.opened.append(console)
        return console

    async def close(self) -> list[str]:
        """The problems of all of them."""
        for console in self.opened:
            await console.page.context.close()
        return [problem for console in self.opened for problem in console.problems]


def _collect(console: Console) -> None:
    def failed(error: Error) -> None:
        console.problems.append(str(error))

    def said(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or message.type == "warning":
            console.problems.append(message.text)

    console.page.on("pageerror", failed)
    console.page.on("console", said)


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """Skips the test where there is none, unless SPADE_LLM_REQUIRE_SERVERS=1 says no."""
    path = shutil.which(CHROMIUM)
    if path is None and os.environ.get("SPADE_LLM_REQUIRE_SERVERS") != "1":
        pytest.skip("no chromium on PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path or CHROMIUM, args=list(ARGUMENTS), timeout=START_MS
        )
        yield browser
        await browser.close()
