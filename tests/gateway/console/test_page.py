"""The page as a whole: it loads without an error, in both languages and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.gateway.console_files import FOLDER

if TYPE_CHECKING:
    from tests.gateway.console.browser import Console, Consoles

pytestmark = pytest.mark.asyncio(loop_scope="module")

VIEWS = ("chat", "memory", "documents", "context", "tools", "agents", "settings")
CLASSIC = {"theme.js", "app.js"}
"""They begin when they are loaded: one before the page is painted, the other is the page."""


async def test_every_module_loads_with_the_same_texts_in_both_languages(console: Console) -> None:
    modules = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.js")} - CLASSIC
    await console.open("settings")

    # i18n.js refuses a table whose keys are not the same in both.
    script = "async (names) => { for (const name of names) await import(`./${name}`) }"
    await console.page.evaluate(script, sorted(modules))


@pytest.mark.parametrize("language", ["en-GB", "es-ES"])
async def test_every_view_fits_on_a_phone(consoles: Consoles, language: str) -> None:
    console = await consoles.new(locale=language, viewport={"width": 360, "height": 640})

    for view in VIEWS:
        await console.open(view)
        await console.page.locator("main .skeleton").first.wait_for(state="detached")
        width = await console.page.evaluate("document.querySelector('main').scrollWidth")
        assert width <= 360, view
