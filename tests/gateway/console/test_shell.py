"""The page as a whole, and what is around its views: who is asking, keys, languages, phones, and a
gateway that is away.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from spade_llm.cli.command_line import build_parser
from spade_llm.gateway.app import CONSOLE_FOLDER
from tests.gateway.console.browser import WAIT_MS

if TYPE_CHECKING:
    from playwright.async_api import Route

    from tests.gateway.console.browser import Console, Consoles
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=WAIT_MS)

CLASSIC = {"theme.js", "app.js"}
"""They begin when they are loaded: one before the page is painted, the other is the page."""


async def test_every_module_loads_with_the_same_texts_in_both_languages(console: Console) -> None:
    modules = {
        path.relative_to(CONSOLE_FOLDER).as_posix() for path in CONSOLE_FOLDER.rglob("*.js")
    } - CLASSIC
    await console.open("settings")

    # i18n.js refuses a table whose keys are not the same in both.
    script = "async (names) => { for (const name of names) await import(`./${name}`) }"
    await console.page.evaluate(script, sorted(modules))


@pytest.mark.parametrize(
    ("language", "kind", "detail", "said"),
    [
        ("en-GB", "away", "the memory agent is away", "The memory agent is away."),
        ("en-GB", "invalid", "text: it is empty", "text: it is empty."),
        ("en-GB", "away", "", "A required agent is unavailable."),
        ("en-GB", "unknown", "Authorization: say so", "An API token is needed."),
        ("es-ES", "large", "2 MB at most", "El contenido es demasiado grande. (2 MB at most)"),
    ],
)
async def test_errors_are_shown_once(
    consoles: Consoles, language: str, kind: str, detail: str, said: str
) -> None:
    console = await consoles.new(locale=language)
    await console.open("settings")

    script = """async ([kind, detail]) => {
        const { explain } = await import("./errors.js");
        return explain({ name: "ApiError", kind, detail });
    }"""
    assert await console.page.evaluate(script, [kind, detail]) == said


async def test_without_a_model_a_new_conversation_says_how_to_connect_one(console: Console) -> None:
    await console.open("chat")

    hint = "spade-llm model set PROVIDER/NAME"
    await expect(console.page.get_by_text(hint)).to_be_visible()
    # Rules cannot summarise: what they cannot answer is not suggested.
    await expect(console.page.get_by_role("button", name="What can you do?")).to_be_visible()
    await expect(console.page.get_by_text("Summarise my documents")).to_be_hidden()
    assert build_parser().parse_args(hint.split()[1:]).action == "set"


@pytest.mark.parametrize("language", ["en-GB", "es-ES"])
async def test_every_view_fits_on_a_phone_and_opening_it_changes_nothing(
    consoles: Consoles, language: str
) -> None:
    console = await consoles.new(locale=language, viewport={"width": 360, "height": 640})
    asked: set[str] = set()
    console.page.on("request", lambda request: asked.add(request.method))

    await console.open("settings")
    views = await console.page.locator(".menu-link").evaluate_all("all => all.map(a => a.hash)")
    for view in views:
        await console.show(view.removeprefix("#/"))
        await console.page.locator("main .skeleton").first.wait_for(state="detached")
        width = await console.page.evaluate("document.querySelector('main').scrollWidth")
        assert width <= 360, view

    assert len(views) >= 7
    assert asked == {"GET"}


async def test_everything_can_be_done_with_keys(console: Console) -> None:
    page = console.page
    await console.open("settings")

    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()

    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await page.keyboard.press("n")
    prompt = page.get_by_role("textbox", name="Message")
    await expect(prompt).to_be_focused()
    await page.keyboard.type("hi? n")
    await expect(prompt).to_have_value("hi? n")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("more")
    await expect(prompt).to_have_value("hi? n\nmore")

    # The switches are drawn once the conversation's configuration has arrived.
    memory = page.get_by_role("button", name="Memory", exact=True)
    await expect(memory).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(memory).to_be_focused()
    await page.keyboard.press("Space")
    await expect(memory).to_have_attribute("aria-pressed", "false")
    for _ in range(3):
        await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Send")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("article", name="You")).to_contain_text("hi? n\nmore")

    await page.get_by_role("link", name="Settings").focus()
    await page.keyboard.press("t")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_a_phone_has_the_menu_in_a_drawer(consoles: Consoles) -> None:
    console = await consoles.new(viewport={"width": 360, "height": 640}, locale="es-ES")
    page = console.page
    await console.open("chat")
    await expect(page.get_by_role("link", name="Ajustes")).to_be_hidden()

    await page.get_by_role("button", name="Menú").click()
    await page.get_by_role("link", name="Ajustes").click()

    await expect(page.get_by_role("heading", name="Ajustes", level=1)).to_be_visible()
    await expect(page.get_by_role("link", name="Ajustes")).to_be_hidden()
    await expect(page.locator("html")).to_have_attribute("lang", "es")
    await page.get_by_label("Idioma").select_option("en")
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()


async def test_a_lost_gateway_is_said_and_found_again(console: Console) -> None:
    page, url = console.page, console.url.removesuffix("console/")
    await console.open("chat")
    await page.context.route(f"{url}ready", _refused)
    await page.context.route(f"{url}llm/chat/stream", _refused)

    await page.get_by_role("textbox", name="Message").fill("Are you there?")
    await page.keyboard.press("Enter")
    banner = page.get_by_text("The gateway cannot be reached. Reconnecting")
    await expect(banner).to_be_visible()
    await page.context.unroute_all()
    await expect(banner).to_be_hidden()
    await page.get_by_role("button", name="Try again").click()

    answer = page.get_by_role("article", name="Assistant")
    await expect(answer).to_have_attribute("aria-busy", "false")
    await expect(answer.get_by_role("alert")).to_have_count(0)


async def _refused(route: Route) -> None:
    await route.abort("connectionrefused")


async def test_a_wrong_token_is_rejected_and_a_right_one_names_its_user(
    console: Console, web: Web
) -> None:
    page, token = console.page, await web.token("ada")
    await console.open("settings")
    await page.evaluate("sessionStorage.setItem('console.token', JSON.stringify('wrong'))")
    await console.open("settings")

    dialog = page.get_by_role("dialog", name="Sign in")
    command = (await dialog.locator("code").inner_text()).split()
    assert command[0] == "spade-llm"
    assert build_parser().parse_args(command[1:]).principal == "PERSON@DOMAIN"
    await dialog.get_by_label("API token").fill(token)
    await page.keyboard.press("Enter")

    await expect(page.locator(".principal-name")).to_have_text("ada")
    await expect(page.get_by_role("button", name="Delete everything")).to_be_disabled()
    kept = await page.evaluate("[JSON.stringify(localStorage), document.cookie]")
    assert token not in json.dumps(kept)


async def test_settings_of_a_conversation_are_the_servers(console: Console, web: Web) -> None:
    page = console.page
    await console.open("chat", "set-by-hand")

    await page.get_by_role("button", name="Settings of this conversation").click()
    dialog = page.get_by_role("dialog", name="Settings of this conversation")
    await dialog.get_by_role("switch", name="Documents").check()
    await dialog.get_by_label("Maximum number of passages").fill("99")
    await dialog.get_by_label("Priority if the context is full").select_option("rag")
    await dialog.get_by_text("Episodes").click()
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_be_hidden()

    config = (await web.http.get("/config/session/set-by-hand")).json()
    assert config["rag"] == {"enabled": True, "namespaces": [], "top_k": 20}
    assert config["memory"]["types"] == ["semantic", "profile", "procedural"]
    assert config["preferences"]["context_priority"] == "rag"


async def test_everything_is_deleted_only_after_typing_the_word(console: Console, web: Web) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "session_id": "to-be-deleted"}
    await web.http.post("/llm/chat", json=body)
    page = console.page
    await console.open("settings")

    await page.get_by_role("button", name="Delete everything").click()
    dialog = page.get_by_role("dialog")
    go = dialog.get_by_role("button", name="Delete everything")
    await expect(go).to_be_disabled()
    await dialog.get_by_role("textbox").fill("delete")
    await expect(go).to_be_disabled()
    await page.keyboard.press("Enter")
    await expect(dialog).to_be_visible()
    await dialog.get_by_role("textbox").fill("DELETE")
    await go.click()

    await expect(page.get_by_text("Deleted:")).to_be_visible()
    await expect(page.locator(".view-chat")).to_be_visible()
    history = (await web.http.get("/llm/memory/history/to-be-deleted")).json()
    assert history["total_count"] == 0
