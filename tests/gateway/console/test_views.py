"""What a person sees and does in the views beside the chat, on a real network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import pytest
from playwright.async_api import expect

from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from tests.gateway.console.browser import WAIT_MS
from tests.integration.network import jid_of

if TYPE_CHECKING:
    from playwright.async_api import FilePayload, Page, Route

    from tests.gateway.console.browser import Console
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=WAIT_MS)

HOSTILE = "<img src=x onerror='window.isHacked = true'> <b>Ada</b>"
CONTRACT = (
    "The deposit is two months of rent. The landlord keeps it in escrow.\n\n"
    f"{HOSTILE} owns the boat called Swordfish, which lies in the harbour of Cascais."
)


async def chat(web: Web, text: str, *, session: str) -> None:
    body = {
        "messages": [{"role": "user", "content": text}],
        "session_id": session,
        "use_tools": True,
    }
    (await web.http.post("/llm/chat", json=body)).raise_for_status()


async def is_hacked(page: Page) -> bool:
    return cast("bool", await page.evaluate("Boolean(window.isHacked)"))


async def upload(page: Page, name: str, text: str, *, namespace: str) -> None:
    await page.get_by_label("Into namespace").fill(namespace)
    file: FilePayload = {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
    await page.locator("input[type=file]").set_input_files(file)


async def test_a_file_is_uploaded_its_chunks_are_found_and_it_is_deleted(console: Console) -> None:
    page = console.page
    await console.open("documents")

    await upload(page, "contract.md", CONTRACT, namespace="lisbon")
    await expect(page.locator(".upload.is-done")).to_contain_text("contract.md")
    await expect(page.get_by_role("row", name=re.compile("contract.md"))).to_contain_text("lisbon")

    await page.get_by_role("tab", name="Search").click()
    await page.get_by_label("Search in your documents").fill("Who owns the boat Swordfish?")
    await page.keyboard.press("Enter")
    chunk = page.locator(".chunk").first
    await expect(chunk).to_contain_text("harbour of Cascais")
    await expect(chunk.locator(".chunk-source")).to_have_text("contract.md, passage 1")
    await expect(chunk).to_contain_text(HOSTILE)
    await expect(chunk.get_by_role("img", name=re.compile("Score"))).to_be_visible()

    await page.get_by_role("tab", name="Ask").click()
    await page.get_by_label("Ask your documents").fill("Who owns the boat Swordfish?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_contain_text("Swordfish")
    assert not await is_hacked(page)

    await page.get_by_role("tab", name="Library").click()
    await page.get_by_role("button", name=re.compile("^lisbon")).click()
    await page.get_by_role("button", name="Delete namespace").click()
    await page.get_by_label("Type lisbon to confirm").fill("lisbo")
    await expect(page.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
    await page.get_by_label("Type lisbon to confirm").fill("lisbon")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No documents yet")).to_be_visible()


async def test_documents_added_for_the_assistant_are_listed_as_shared(
    console: Console, web: Web
) -> None:
    page = console.page
    documents = RagClient(web.assistant.node.requester, jid_of(web.rag))
    await documents.ingest(Document(text="Owls fly at night.", source="owls.md"))

    await console.open("documents")

    shared = page.get_by_role("region", name="Shared with you")
    await expect(shared.get_by_role("row", name=re.compile("owls.md"))).to_be_visible()
    await expect(shared.get_by_role("button")).to_have_count(0)
    await expect(page.get_by_text("No documents yet")).to_be_visible()

    await page.set_viewport_size({"width": 390, "height": 844})
    overflow = "frame => frame.scrollWidth - frame.clientWidth"
    assert await shared.locator(".table-frame").evaluate(overflow) == 0


async def test_a_file_that_cannot_be_read_says_why_and_a_pasted_text_is_added(
    console: Console,
) -> None:
    page = console.page
    await console.open("documents")

    await upload(page, "photo.exe", "MZ", namespace="default")
    await expect(page.locator(".upload.is-failed")).to_contain_text("photo.exe")
    await page.get_by_role("button", name="Paste text").click()
    await page.get_by_label("Name", exact=True).fill("boats.md")
    await page.get_by_label("Text", exact=True).fill("Swordfish is a boat.")
    await page.get_by_role("button", name="Add", exact=True).click()

    row = page.get_by_role("row", name=re.compile("boats.md"))
    await expect(row).to_be_visible()
    await row.get_by_role("button", name="Delete boats.md").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(row).to_have_count(0)


async def test_a_memory_is_found_corrected_and_forgotten(console: Console, web: Web) -> None:
    page = console.page
    await chat(web, f"Remember that my sister Margarida saw {HOSTILE}.", session="of-memory")
    await console.use_session("of-memory")
    await console.open("memory")

    await expect(page.locator(".timeline-item").first).to_contain_text(HOSTILE)
    await page.get_by_role("searchbox", name="Search memories").fill("sister Margarida")
    await page.keyboard.press("Enter")
    await expect(page.locator(".memory-item .score").first).to_be_visible()
    await page.get_by_role("button", name="Clear the search").click()
    await expect(page.locator(".results-head")).to_have_count(0)

    memory = page.locator(".memory-item", has_text="Margarida")
    await expect(memory).to_contain_text(HOSTILE)
    await memory.get_by_role("button", name="Correct").click()
    await page.get_by_label("Content", exact=True).fill("My sister Margarida lives in Alfama")
    await page.get_by_role("button", name="Save").click()
    await expect(memory).to_contain_text("lives in Alfama")
    told = (await web.http.get("/api/v0/memories")).json()["memories"]
    assert [one["content"] for one in told] == ["My sister Margarida lives in Alfama"]

    await memory.get_by_role("button", name="Forget").click()
    await page.get_by_role("button", name="Forget it").click()
    await expect(page.get_by_text("No memories of this type yet")).to_be_visible()
    assert (await web.http.get("/api/v0/memories")).json()["memories"] == []
    assert not await is_hacked(page)


async def test_the_memory_of_a_conversation_is_cleared(console: Console, web: Web) -> None:
    page = console.page
    await chat(web, "The harbour is in Cascais.", session="of-harbour")
    await console.use_session("of-harbour")
    await console.open("memory")

    await expect(page.get_by_text(re.compile("2 messages · [1-9]"))).to_be_visible()
    await page.get_by_role("button", name="Clear", exact=True).click()
    await page.get_by_role("button", name="Clear the memory").click()

    await expect(page.get_by_text("No messages yet")).to_be_visible()
    history = (await web.http.get("/llm/memory/history/of-harbour")).json()
    assert history["messages"] == []


async def test_the_prompt_is_shown_by_its_parts(console: Console, web: Web) -> None:
    page = console.page
    await chat(web, "My boat is called Swordfish.", session="of-boat")
    await console.open("chat", "of-boat")

    await page.get_by_role("textbox", name="Message").fill("What is my boat called?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("article", name="Assistant")).to_have_count(2)
    await page.get_by_role("link", name="Context").click()

    await expect(page.locator(".token-part.is-history")).to_be_visible()
    await expect(page.locator(".context-section").first).to_contain_text("Swordfish")
    await expect(page.locator(".context-figures")).to_contain_text("of 4,000 tokens")
    await expect(page.locator(".section-title").first).to_have_text("Recent History")
    await page.get_by_role("tab", name="As text").click()
    await expect(page.locator(".context-text pre")).to_contain_text("## Recent History")


async def test_a_tool_is_tried(console: Console) -> None:
    page = console.page
    await console.open("tools")
    await page.get_by_role("searchbox", name="Find a tool").fill("calculator")
    tool = page.locator(".tool:visible")
    await tool.locator("summary").first.click()

    await tool.get_by_role("button", name="Run").click()
    await expect(
        tool.get_by_role("alert").filter(has_text="This field is required.")
    ).to_be_visible()
    await tool.get_by_label("expression").fill("6 * 7")
    await page.keyboard.press("Enter")
    await expect(tool.locator(".tool-told.is-good")).to_contain_text("42")

    await tool.get_by_label("expression").fill("6 *")
    await page.keyboard.press("Enter")
    await expect(tool.locator(".tool-told.is-bad")).to_contain_text("Error")


async def test_the_network_view_is_updated_only_while_visible(
    console: Console,
) -> None:
    page = console.page
    looks: list[str] = []
    page.on("request", lambda request: looks.append(request.url))
    show = """(isHidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    await page.clock.install()
    await console.open("agents")
    await expect(page.get_by_text("4 of 4 online")).to_be_visible()

    async with page.expect_response(re.compile("/requests")) as again:
        await page.clock.run_for(2500)
    await (await again.value).finished()
    await page.evaluate(show, True)
    looks.clear()
    await page.clock.run_for(60_000)
    assert looks == []
    async with page.expect_request(re.compile("/agents")):
        await page.evaluate(show, False)


async def test_the_network_view_shows_the_share_of_each_replica(console: Console) -> None:
    page = console.page
    one = {"name": "llm-1", "conversations": 3, "share": 0.75, "takeovers": 2, "leaving": False}
    two = {"name": "llm-2", "conversations": 1, "share": 0.25, "takeovers": 0, "leaving": True}

    async def with_replicas(route: Route) -> None:
        answer = await route.fetch()
        agents = (await answer.json())["agents"]
        agents[0]["replicas"] = [one, two]
        await route.fulfill(json={"agents": agents})

    await console.open("agents")
    await expect(page.get_by_text("4 of 4 online")).to_be_visible()
    await expect(page.get_by_role("heading", name="Replicas")).to_be_hidden()

    await page.route(re.compile("/api/v0/agents$"), with_replicas)

    await expect(page.get_by_role("row", name=re.compile("llm-1"))).to_contain_text("75 %")
    await expect(page.get_by_role("row", name="llm-2 (leaving)")).to_be_visible()


async def test_the_network_view_shows_online_agents_requests_and_departures(
    console: Console, web: Web
) -> None:
    page = console.page
    await chat(web, "What is 6 * 7?", session="of-numbers")
    await console.open("agents")

    await expect(page.get_by_text("4 of 4 online")).to_be_visible()
    await expect(page.locator(".net-agent.is-online")).to_have_count(5)  # with the gateway
    trace = page.locator(".trace", has_text="say").first
    await expect(trace.locator(".bar-row")).not_to_have_count(0)
    name = str(web.tools.jid).partition("@")[0]
    await page.get_by_role("button", name=re.compile(f"^{name}")).press("Enter")
    await expect(page.get_by_role("heading", name=f"Latest requests with {name}")).to_be_visible()

    await web.tools.stop()  # the last test of the file: nobody starts it again
    await expect(page.locator(".net-agent.is-away")).to_have_count(1)
    await expect(page.get_by_text("3 of 4 online")).to_be_visible()
