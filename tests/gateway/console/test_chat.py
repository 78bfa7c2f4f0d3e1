"""A conversation in the console: written, stopped, asked back, looked through, taken away."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.gateway.console.browser import WAIT_MS
from tests.gateway.console.scripted_model import BEGINNING, END, Talker
from tests.gateway.web import started

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Locator, Page

    from tests.conftest import Provisioner
    from tests.gateway.console.browser import Console, Consoles
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASSAGE = "Either party may end this contract with a notice of one month, given in writing."
expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def talker() -> Talker:
    return Talker()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory, talker: Talker
) -> AsyncIterator[Web]:
    directory = tmp_path_factory.mktemp("chat")
    async with started(embedded, directory, model=talker, tools=[talker.eraser]) as web:
        yield web


async def begin(console: Console) -> Page:
    """A conversation of its own."""
    await console.open("chat", str(uuid.uuid4()))
    return console.page


async def say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Message").fill(text)
    await page.keyboard.press("Enter")


def last_answer(page: Page) -> Locator:
    return page.get_by_role("article", name="Assistant").last


async def answered(page: Page, text: str) -> None:
    await expect(last_answer(page)).to_contain_text(text)
    await expect(last_answer(page)).to_have_attribute("aria-busy", "false")


async def test_an_answer_appears_while_it_is_written(console: Console, talker: Talker) -> None:
    page = await begin(console)
    await say(page, "wait for me")
    await expect(last_answer(page)).to_contain_text(BEGINNING)
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()

    # It goes on while something else is looked at.
    await page.get_by_role("link", name="Settings").click()
    await expect(page.locator(".view-settings")).to_be_visible()
    talker.gate.set()
    await page.get_by_role("link", name="Chat", exact=True).click()

    await answered(page, BEGINNING + END)
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    talker.gate.clear()


async def test_a_stopped_answer_stops_at_the_model_and_can_be_had_again(
    console: Console, talker: Talker
) -> None:
    talker.was_stopped.clear()
    page = await begin(console)
    await say(page, "wait in vain")
    await expect(last_answer(page)).to_contain_text(BEGINNING)

    await page.keyboard.press("Escape")

    await answered(page, "Stopped")
    async with asyncio.timeout(WAIT_MS / 1000):
        await talker.was_stopped.wait()

    talker.gate.set()
    await page.get_by_role("button", name="Try again").click()
    await answered(page, BEGINNING + END)
    assert await page.get_by_role("article", name="You").count() == 1
    talker.gate.clear()


async def test_stopped_and_failed_questions_stay_when_the_page_is_loaded_anew(
    console: Console,
) -> None:
    page = await begin(console)
    await say(page, "first")
    await answered(page, "You said: first")
    await say(page, "wait in vain")
    await expect(last_answer(page)).to_contain_text(BEGINNING)
    await page.keyboard.press("Escape")
    await answered(page, "Stopped")
    await say(page, "fail please")
    await expect(last_answer(page).get_by_role("alert")).to_be_visible()
    await say(page, "last")
    await answered(page, "You said: last")

    await page.reload()

    await answered(page, "You said: last")
    mine = page.get_by_role("article", name="You").locator(".message-mine")
    theirs = page.get_by_role("article", name="Assistant")
    assert await mine.all_inner_texts() == ["first", "wait in vain", "fail please", "last"]
    await expect(theirs.nth(1)).to_contain_text(BEGINNING)
    await expect(theirs.nth(1)).to_contain_text("Stopped")
    await expect(theirs.nth(2).get_by_role("alert")).to_be_visible()


async def test_a_question_can_be_asked_again_after_its_page_was_closed(
    console: Console, talker: Talker
) -> None:
    page = await begin(console)
    await say(page, "wait for the reload")
    await expect(last_answer(page)).to_contain_text(BEGINNING)

    await page.reload()
    await answered(page, "Stopped")
    talker.gate.set()
    await page.get_by_role("button", name="Try again").click()
    await answered(page, BEGINNING + END)
    await page.reload()

    await answered(page, BEGINNING + END)
    assert await page.get_by_role("article", name="You").count() == 1
    talker.gate.clear()


@pytest.mark.parametrize("width", [360, 390, 1280])
async def test_wide_code_and_tables_scroll_in_themselves(consoles: Consoles, width: int) -> None:
    console = await consoles.new(viewport={"width": width, "height": 800})
    page = await begin(console)
    await say(page, "wide")
    await answered(page, "Wide:")

    answer = last_answer(page)
    over = """all => all.map(one => one.scrollWidth - one.clientWidth)"""
    assert await page.locator(".chat-scroll, main").evaluate_all(over) == [0, 0]
    box = await answer.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= width
    scrolled = await answer.locator("pre, .prose-table").evaluate_all(over)
    assert len(scrolled) == 3
    assert all(hidden > 0 for hidden in scrolled) or width == 1280


async def test_a_tool_is_asked_for_in_place_and_its_call_is_shown(
    console: Console, talker: Talker
) -> None:
    page = await begin(console)

    await say(page, "erase notes.txt")
    question = page.get_by_role("group", name="Allow the tool erase to run?")
    await expect(question).to_contain_text("notes.txt")
    await question.get_by_role("button", name="Allow", exact=True).click()
    await answered(page, "The tool says")
    await page.get_by_text("1 tool call").click()
    await page.locator(".call summary").click()

    await expect(question).to_contain_text("Allowed")
    await expect(page.locator(".call-body")).to_contain_text("notes.txt is gone")
    assert talker.erased == ["notes.txt"]

    await say(page, "erase everything")
    await question.last.get_by_role("button", name="Deny").click()
    await answered(page, "The tool says")
    assert talker.erased == ["notes.txt"]


async def test_hostile_text_stays_text(console: Console) -> None:
    page = await begin(console)
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))

    await say(page, "hostile")
    await answered(page, "<img src=x onerror=")
    await page.reload()  # the same from the history
    await answered(page, "<img src=x onerror=")

    answer = last_answer(page)
    assert await answer.locator("img, script, iframe").count() == 0
    links = await answer.locator("a").evaluate_all("all => all.map(one => [one.href, one.rel])")
    assert {href for href, _ in links} == {
        "https://example.org/",
        "https://elsewhere.example/pixel.png",  # an image is a link, and nothing is loaded
    }
    assert {rel for _, rel in links} == {"noopener noreferrer"}
    assert [url for url in loaded if "elsewhere" in url] == []
    assert await page.evaluate("window.wasRun") is None


async def test_markdown_of_an_answer_is_built_and_code_can_be_copied(
    consoles: Consoles,
) -> None:
    console = await consoles.new()
    await console.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await begin(console)
    await say(page, "format")
    await answered(page, "Two steps:")

    answer = last_answer(page)
    await answer.locator("figure").get_by_role("button", name="Copy").click()

    assert await answer.locator("strong").inner_text() == "Two"
    assert await answer.locator("ol > li").all_inner_texts() == ["one", "two"]
    await expect(answer.locator("figure").get_by_role("button", name="Copied")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == "print('<b>hi</b>')"


async def test_any_text_is_built_in_little_time(console: Console) -> None:
    """A hundred thousand characters of what patterns like least."""
    page = await begin(console)
    script = """async (pieces) => {
      const { prose } = await import("./markdown.js");
      const times = {};
      for (const piece of pieces) {
        const text = piece.repeat(Math.ceil(100_000 / piece.length));
        const begun = performance.now();
        const node = prose(text);
        times[piece] = performance.now() - begun;
        if (node.querySelector("img, script")) throw new Error(piece);
      }
      return times;
    }"""
    pieces = [
        "*a ",
        "**a",
        "_a_ ",
        "[",
        "[a](",
        "`a",
        "> ",
        "- ",
        "  - a\n",
        "|",
        "a|b\n",
        "http://",
    ]
    pieces += [
        "http://a.",
        "#",
        "# a\n",
        "```",
        "~~~\n",
        "\\",
        "<b>",
        "***",
        "1. a\n\n",
        " ",
        "![x](",
    ]

    times = await page.evaluate(script, pieces)

    assert {piece: ms for piece, ms in times.items() if ms > 3000} == {}


async def test_chat_history_is_searched_and_deleted(console: Console, tmp_path: Path) -> None:
    page = await begin(console)
    await say(page, "An apple & a <pear>")
    await answered(page, "You said: An apple & a <pear>")

    await page.get_by_role("button", name="Search in this conversation").click()
    await page.keyboard.type("APPLE")
    await expect(page.locator(".find-count")).to_have_text("2 of 2")
    await page.keyboard.press("Enter")
    await expect(page.locator(".find-count")).to_have_text("1 of 2")
    await page.keyboard.type(" tree")
    await expect(page.locator(".find-count")).to_have_text("No matches")
    await page.keyboard.press("Escape")
    await expect(page.locator(".find")).to_be_hidden()

    await _export(page, "Export as JSON", tmp_path / "a.json")
    await _export(page, "Export as Markdown", tmp_path / "a.md")
    data = json.loads(_text_of(tmp_path / "a.json"))
    assert [one["role"] for one in data["messages"]] == ["user", "assistant"]
    assert data["messages"][1]["content"] == "You said: An apple & a <pear>"
    assert data["messages"][1]["context_tokens"] >= 0
    assert "An apple & a <pear>" in _text_of(tmp_path / "a.md")


async def _export(page: Page, how: str, path: Path) -> None:
    await page.get_by_role("button", name="More").click()
    async with page.expect_download() as download:
        await page.get_by_role("menuitem", name=how).click()
    await (await download.value).save_as(path)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def test_documents_are_used_once_there_are_any_until_a_person_says_no(
    consoles: Consoles, web: Web
) -> None:
    url, token = consoles.url.removesuffix("/console/"), await web.token("reader")
    console = await consoles.new(extra_http_headers={"Authorization": f"Bearer {token}"})
    page = await begin(console)
    switch = page.get_by_role("button", name="Documents", exact=True)
    await expect(switch).to_have_attribute("aria-pressed", "false")

    body = {"documents": [PASSAGE], "namespace": "own"}
    (await web.client(token).post(f"{url}/llm/rag/documents", json=body)).raise_for_status()
    await page.reload()
    await expect(switch).to_have_attribute("aria-pressed", "true")
    await say(page, "How long is the notice of the contract?")
    await answered(page, "You said")
    await expect(page.get_by_role("group", name="Sources")).to_be_visible()

    await switch.click()
    await expect(switch).to_have_attribute("aria-pressed", "false")
    await page.reload()
    await answered(page, "You said")
    await expect(switch).to_have_attribute("aria-pressed", "false")


async def test_a_source_is_opened_beside_the_answer(console: Console, web: Web) -> None:
    body = {"documents": [PASSAGE], "namespace": "contracts"}
    added = await web.http.post("/llm/rag/documents", json=body)
    assert added.json()["documents_added"] == 1
    page = await begin(console)

    await say(page, "How long is the notice of the contract?")
    await answered(page, "You said")
    source = page.get_by_role("group", name="Sources").get_by_role("button").first
    name = await source.inner_text()
    await source.click()

    panel = page.get_by_role("complementary", name="Sources")
    await expect(panel.locator(".passage.is-chosen").get_by_role("heading")).to_have_text(name)
    await expect(panel.locator(".passage.is-chosen")).to_contain_text(PASSAGE)
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()

    await page.get_by_role("button", name="Why this answer?").click()
    panel = page.get_by_role("complementary", name="Why this answer?")
    await expect(panel).to_contain_text("My last answer here")


async def test_conversations_are_listed_reopened_and_deleted(console: Console) -> None:
    page = await begin(console)
    title = f"Remember the {uuid.uuid4().hex[:8]}"
    await say(page, title)
    await answered(page, title)
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.get_by_role("article")).to_have_count(0)

    await page.get_by_role("textbox", name="Message").fill("a draft")
    await page.get_by_role("link", name=title).click()
    await answered(page, title)
    await page.go_back()
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("a draft")

    await page.get_by_role("button", name=f"Delete “{title}”").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("link", name=title)).to_have_count(0)
    await page.reload()
    await expect(page.get_by_role("link", name="Settings")).to_be_visible()
    await expect(page.get_by_role("link", name=title)).to_have_count(0)
