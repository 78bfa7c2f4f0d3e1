"""The web console, played in a real Chromium: question, growing answer, source, memory."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.async_api import expect

from spade_llm.xmpp.servers.data_directory import read_run_record
from tests.cli.program import ROOT
from tests.gateway.console.browser import WAIT_MS, Consoles, chromium
from tests.openai_server import Call, Say
from tests.recording.network import KEY_S, READ_S, running_network, streamed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from playwright.async_api import Page

WIDTH, HEIGHT = 800, 560
MAX_SHOTS = 2000

DOCUMENT = ROOT / "examples" / "lighthouse.md"
QUESTION = "We visit the lighthouse on Saturday: two adults and a child of nine. What will it cost?"
FACT = "The user visits the lighthouse on Saturday with a child of nine."
ANSWER = """You need two tickets, **8 euros** together [lighthouse.md]:

- adults: 4 euros each
- the child: free, as all children under twelve

On Saturday the lighthouse is open from ten to six. I will remember your plan."""


async def play_console(folder: Path) -> list[tuple[float, bytes]]:
    """Shots (PNG) of a conversation and its memory, played in an empty folder."""
    async with running_network(folder) as (program, server), chromium() as browser:
        added = await program.run("rag", "add", str(DOCUMENT))
        assert added.status == 0, added.errors
        record = read_run_record(program.data)
        assert record is not None
        consoles = Consoles(browser=browser, url=f"{record.web[0]}/console/")
        console = await consoles.new(
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light",
            reduced_motion="reduce",
        )
        await console.open("chat")
        store = json.dumps({"content": FACT, "category": "fact"})
        server.enqueue(Say(calls=(Call(name="store_memory", arguments=store),)), streamed(ANSWER))
        async with _filming(console.page) as shots:
            await _ask_and_look(console.page)
        assert await consoles.close() == []
        return sorted(shots)


async def _ask_and_look(page: Page) -> None:
    await asyncio.sleep(READ_S)
    box = page.get_by_role("textbox", name="Message")
    await box.press_sequentially(QUESTION, delay=KEY_S * 1000)
    await page.keyboard.press("Enter")
    answer = page.get_by_role("article", name="Assistant").last
    await expect(answer).to_contain_text("your plan.", timeout=WAIT_MS)
    await expect(answer).to_have_attribute("aria-busy", "false", timeout=WAIT_MS)
    await asyncio.sleep(2 * READ_S)
    await answer.get_by_role("button", name="lighthouse.md").first.click()
    await asyncio.sleep(2 * READ_S)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Menu").click()
    await asyncio.sleep(READ_S)
    await page.get_by_role("link", name="Memory").click()
    memory = page.get_by_text(FACT)
    await expect(memory).to_be_visible(timeout=WAIT_MS)
    await asyncio.sleep(READ_S)
    await memory.evaluate("node => node.scrollIntoView({behavior: 'smooth', block: 'center'})")
    await expect(memory).to_be_in_viewport(timeout=WAIT_MS)
    await asyncio.sleep(READ_S)


@asynccontextmanager
async def _filming(page: Page) -> AsyncIterator[list[tuple[float, bytes]]]:
    """Shots of a page at its changes: (time in seconds, PNG), at most MAX_SHOTS."""
    session = await page.context.new_cdp_session(page)
    shots: list[tuple[float, bytes]] = []
    acknowledging: set[asyncio.Task[Any]] = set()

    def take(event: dict[str, Any]) -> None:
        if len(shots) < MAX_SHOTS:
            shots.append((event["metadata"]["timestamp"], base64.b64decode(event["data"])))
        done = session.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})
        task = asyncio.ensure_future(done)
        acknowledging.add(task)
        task.add_done_callback(acknowledging.discard)

    session.on("Page.screencastFrame", take)
    await session.send("Page.startScreencast", {"format": "png"})
    try:
        yield shots
    finally:
        await session.send("Page.stopScreencast")
        await asyncio.gather(*acknowledging)


def write_webp(film: Sequence[tuple[float, bytes]], path: Path) -> None:
    """Write an endless animation of pictures (PNG), each with its time in seconds."""
    first, *others = (Image.open(io.BytesIO(data)).convert("RGB") for _, data in film)
    durations = [round(shown_s * 1000) for shown_s, _ in film]
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        lossless=True,
        method=6,
        minimize_size=True,
    )
