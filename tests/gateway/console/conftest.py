"""One browser for the tests of a file, which share a gateway too; a window of its own for each.

Such a file says `pytestmark = pytest.mark.asyncio(loop_scope="module")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from tests.gateway.console.browser import Consoles, chromium

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser

    from tests.gateway.console.browser import Console
    from tests.gateway.web import Web


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module")
async def consoles(browser: Browser, web: Web) -> AsyncIterator[Consoles]:
    """No page of them may have failed, or tried what its security policy forbids."""
    consoles = Consoles(browser=browser, url=f"{web.agent.url}/console/")
    yield consoles
    assert await consoles.close() == []


@pytest_asyncio.fixture(loop_scope="module")
async def console(consoles: Consoles) -> Console:
    """As the local principal, in English."""
    return await consoles.new()
