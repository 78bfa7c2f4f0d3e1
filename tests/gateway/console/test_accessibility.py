"""What screen readers and voice control need, held in every view: lists of items only, roles that
their elements may have, headings without a gap, and names that say what is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.gateway.console.browser import WAIT_MS
from tests.gateway.console.scripted_model import Talker
from tests.gateway.web import started

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

    from tests.conftest import Provisioner
    from tests.gateway.console.browser import Console, Consoles
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=WAIT_MS)

VIEWS = ("memory", "documents", "context", "tools", "agents", "settings")
FAULTS = """() => {
  const shown = (one) => one.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const said = (text) => text.replace(/\\s+/g, " ").trim().toLowerCase();
  const faults = [];
  const fault = (rule, node) => faults.push(`${rule}: ${node.outerHTML.slice(0, 200)}`);
  for (const list of all("ul, ol")) {
    if ([...list.children].some((one) => one.tagName !== "LI" || one.role)) fault("list", list);
  }
  for (const item of all("li[role], table [role], p[role]:not([role=status], [role=alert])")) {
    fault("aria-allowed-role", item);
  }
  let above = 6; // The first one may be of any level.
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > above + 1) fault("heading-order", heading);
    above = level;
  }
  for (const control of all("button, a[href], [role=button], [role=tab], summary")) {
    const label = control.getAttribute("aria-label");
    const text = said(control.innerText ?? control.textContent);
    if (label !== null && text && !said(label).includes(text)) {
      fault("label-content-name-mismatch", control);
    }
  }
  return faults;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Web]:
    talker = Talker()
    directory = tmp_path_factory.mktemp("accessibility")
    async with started(embedded, directory, model=talker, tools=[talker.eraser]) as web:
        yield web


async def faults(page: Page) -> list[str]:
    found: list[str] = await page.evaluate(FAULTS)
    return found


async def say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.keyboard.press("Enter")


async def test_a_conversation_with_sources_tools_and_headings_is_accessible(
    console: Console, web: Web
) -> None:
    body = {"documents": ["The notice of the contract is one month."], "namespace": "contracts"}
    (await web.http.post("/llm/rag/documents", json=body)).raise_for_status()
    page = console.page
    await console.open("chat", "accessible")
    await say(page, "erase notice.txt of the contract")
    await page.get_by_role("button", name="Allow", exact=True).click()
    await page.get_by_text("1 tool call").click()
    await page.locator(".call summary").click()
    await say(page, "outline")
    await expect(page.get_by_role("heading", name="High")).to_be_visible()
    await page.get_by_role("group", name="Sources").get_by_role("button").first.click()
    await expect(page.get_by_role("complementary", name="Sources")).to_be_visible()

    assert await faults(page) == []


@pytest.mark.parametrize("width", [360, 1280])
async def test_every_view_is_accessible(consoles: Consoles, width: int) -> None:
    console = await consoles.new(viewport={"width": width, "height": 800})
    page = console.page
    await console.open("documents")
    note = {"name": "owls.md", "mimeType": "text/plain", "buffer": b"Owls fly at night."}
    await page.locator("input[type=file]").set_input_files(note)  # type: ignore[arg-type]
    await expect(page.locator(".upload.is-done")).to_be_visible()
    assert await faults(page) == []

    for view in VIEWS:
        await console.show(view)
        await page.locator("main .skeleton").first.wait_for(state="detached")
        opened = "for (const one of document.querySelectorAll('main details')) one.open = true"
        await page.evaluate(opened)
        assert await faults(page) == [], view
