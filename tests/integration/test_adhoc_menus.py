"""The menus of agents (XEP-0050), as a person's client uses them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import pytest

from spade_llm.agents import AgentOptions, AssistantConfig, LLMAgent, Services
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import tool
from spade_llm.xmpp.admission_control import AdmissionPolicy
from spade_llm.xmpp.features.room_membership import KnownRoom
from spade_llm.xmpp.features.rooms import RoomsOptions
from tests.integration.gated_model import GatedModel
from tests.integration.network import WAIT_S, answer_to, calling, jid_of
from tests.integration.room_guest import Guest

if TYPE_CHECKING:
    from spade_llm.agents import MemoryAgent, XmppAgent
    from tests.integration.network import Network
    from tests.xmpp.client import Client

ON_ONE = pytest.mark.parametrize("server", ["embedded"], indirect=True)
"""What depends on no server; the others show that both carry menus."""
COMMANDS = "http://jabber.org/protocol/commands"
C, X = f"{{{COMMANDS}}}", "{jabber:x:data}"
ERRORS = "{urn:ietf:params:xml:ns:xmpp-stanzas}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a client shows after one step."""

    status: str
    session: str
    text: str
    note: str
    """Its type."""
    options: dict[str, str]
    """Labels, by value."""
    fields: dict[str, str]
    """What stands in them before."""


@dataclass(slots=True)
class Menu:
    client: Client
    agent: XmppAgent
    language: str = "en"

    async def ask(self, payload: str, kind: str = "set", *, to: str = "") -> Any:
        id, to = self.client.xmpp.new_id(), to or self.agent.address
        answer = self.client.expect_iq(id)
        self.client.send_raw(
            f"<iq type='{kind}' id='{id}' to='{to}' xml:lang='{self.language}'>{payload}</iq>"
        )
        return (await answer).xml

    async def lines(self) -> dict[str, str]:
        query = f"<query xmlns='http://jabber.org/protocol/disco#items' node='{COMMANDS}'/>"
        items = (await self.ask(query, "get"))[0]
        return {one.get("node"): one.get("name") for one in items}

    async def command(self, node: str, attributes: str = "", form: str = "") -> Any:
        return await self.ask(
            f"<command xmlns='{COMMANDS}' node='{node}' {attributes}>{form}</command>"
        )

    async def begin(self, node: str) -> Shown:
        return shown(await self.command(node, "action='execute'"))

    async def fill(self, node: str, session: str, **values: str | list[str]) -> Shown:
        return shown(await self.command(node, f"sessionid='{session}'", filled(**values)))


def filled(**values: str | list[str]) -> str:
    fields = "".join(
        f"<field var='{name}'>{''.join(f'<value>{escape(one)}</value>' for one in several)}</field>"
        for name, value in values.items()
        for several in [[value] if isinstance(value, str) else value]
    )
    return f"<x xmlns='jabber:x:data' type='submit'>{fields}</x>"


def shown(iq: Any) -> Shown:
    assert iq.get("type") == "result", iq
    command = iq.find(f"{C}command")
    note = command.find(f"{C}note")
    parts = [one.text or "" for one in command.iter() if one.tag in READ]
    return Shown(
        status=command.get("status"),
        session=command.get("sessionid"),
        text="\n".join(parts),
        note=note.get("type") if note is not None else "",
        options={one.findtext(f"{X}value"): one.get("label") for one in command.iter(f"{X}option")},
        fields={
            one.get("var"): one.findtext(f"{X}value") or "" for one in command.iter(f"{X}field")
        },
    )


READ = (f"{C}note", f"{X}title", f"{X}instructions", f"{X}value")


def condition(iq: Any) -> tuple[str, str]:
    """Of an error: XMPP's, and that of XEP-0050."""
    error = iq.find("{jabber:client}error")
    assert error is not None, iq
    names = {one.tag for one in error}
    own = [name.removeprefix(C) for name in names if name.startswith(C)]
    general = [name.removeprefix(ERRORS) for name in names if name.startswith(ERRORS)]
    return next(one for one in general if one != "text"), "".join(own)


async def remembering(
    network: Network, memory: MemoryAgent | None = None
) -> tuple[Menu, MemoryClient]:
    """An assistant that remembers three things of Ada, and one of Bob."""
    memory, ada = memory or await network.memory(), await network.person()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    store = MemoryClient(assistant.node.requester, jid_of(memory))
    for text in ("Ada likes tea", "Ada rows", "Ada sings"):
        await store.add(MemoryDraft(content=text, subject=ada.bare))
    await store.add(MemoryDraft(content="Bob likes coffee", subject="bob@localhost"))
    return Menu(ada, assistant), store


def value_of(options: dict[str, str], words: str) -> str:
    return next(value for value, label in options.items() if words in label)


async def test_a_menu_lists_the_commands_in_the_client_s_language(network: Network) -> None:
    menu = Menu(await network.person(), await network.assistant())

    lines = await menu.lines()
    spanish = await Menu(menu.client, menu.agent, "es-MX").lines()
    query = f"<query xmlns='http://jabber.org/protocol/disco#info' node='{COMMANDS}'/>"
    identity = (await menu.ask(query, "get"))[0][0]

    assert list(lines)[:5] == ["new", "memories", "correct", "forget", "export"]
    assert {"documents", "tools", "questions", "usage", "status", "help"} <= set(lines)
    assert lines["forget"] == "Forget"
    assert spanish["forget"] == "Olvidar"
    assert identity.get("type") == "command-list"


@ON_ONE
async def test_commands_without_input_run_at_once(network: Network) -> None:
    menu = Menu(await network.person(), await network.assistant())

    status, tools = await menu.begin("status"), await menu.begin("help")

    assert (status.status, status.note) == ("completed", "info")
    assert "Everything is reachable" in status.text
    assert tools.status == "completed"
    assert "/forget all" in tools.text


async def test_memories_are_seen_corrected_and_forgotten(network: Network) -> None:
    menu, store = await remembering(network)

    asked = await menu.begin("memories")
    listed = await menu.fill("memories", asked.session)
    asked = await menu.begin("correct")
    tea = value_of(asked.options, "tea")
    asked_text = await menu.fill("correct", asked.session, memory=tea)
    corrected = await menu.fill("correct", asked_text.session, text=["Ada likes", "green tea"])
    asked = await menu.begin("forget")
    some = [value_of(asked.options, "rows"), value_of(asked.options, "sings")]
    forgotten = await menu.fill("forget", asked.session, memory=some, all="0")

    assert "Ada rows" in listed.text
    assert "Bob" not in listed.text
    assert asked_text.fields["text"] == "Ada likes tea"
    assert corrected.text.startswith("Corrected:")
    assert forgotten.text == "Forgotten."
    left = [entry.content for entry in (await store.list()).entries]
    assert sorted(left) == ["Ada likes\ngreen tea", "Bob likes coffee"]


@pytest.mark.parametrize("server", ["prosody"], indirect=True)
@pytest.mark.server
async def test_oversized_forms_are_reported_and_not_sent(network: Network) -> None:
    menu, store = await remembering(network)
    for text in ('"' * 20_000, '"' * 20_001, "x" + "\n" * 32_000 + "y"):
        await store.add(MemoryDraft(content=text, subject=menu.client.bare))

    asked = await menu.begin("correct")
    lines = await menu.fill("correct", asked.session, memory=value_of(asked.options, "x"))
    number = value_of(asked.options, "x").partition(" ")[0]
    await answer_to(menu.client, menu.agent, f"/forget {number}")
    exported = await menu.begin("export")

    assert (exported.status, exported.note) == ("completed", "error")
    assert exported.text.startswith("That is too long for a menu")
    assert lines.text == exported.text
    assert (await menu.begin("status")).note == "info"


@ON_ONE
async def test_everything_is_forgotten_after_one_more_question(network: Network) -> None:
    menu, store = await remembering(network)

    asked = await menu.begin("forget")
    sure = await menu.fill("forget", asked.session, all="1")
    declined = await menu.fill("forget", sure.session, sure="0")
    kept = (await store.list()).total
    asked = await menu.begin("forget")
    sure = await menu.fill("forget", asked.session, all="1")
    done = await menu.fill("forget", sure.session, sure="1")

    assert (declined.text, kept) == ("Nothing was changed.", 4)
    assert done.text == "Forgotten: 3 memories and our conversations."
    assert [entry.content for entry in (await store.list()).entries] == ["Bob likes coffee"]


@ON_ONE
async def test_the_memory_agent_has_a_menu_for_people_too(network: Network) -> None:
    memory = await network.memory()
    of_assistant, store = await remembering(network, memory)
    agent = Menu(of_assistant.client, memory, "es")

    asked = await agent.begin("correct")
    text = await agent.fill("correct", asked.session, memory=value_of(asked.options, "tea"))
    corrected = await agent.fill("correct", text.session, text="Ada toma mate")
    asked = await agent.begin("forget")
    sure = await agent.fill("forget", asked.session, all="true")
    done = await agent.fill("forget", sure.session, sure="true")

    assert corrected.text.startswith("Corregido:")
    assert done.text == "Olvidado: 3 recuerdos sobre ti, y tus conversaciones."
    assert [entry.content for entry in (await store.list()).entries] == ["Bob likes coffee"]


@ON_ONE
async def test_a_new_conversation_ends_what_runs_in_it(network: Network) -> None:
    model = GatedModel()
    assistant, ada = await network.assistant(model), await network.person()
    menu = Menu(ada, assistant)
    assert await answer_to(ada, assistant, "hello") == "hello"
    ada.send(jid_of(assistant), "wait for it")
    await asyncio.wait_for(model.was_asked.wait(), WAIT_S)

    begun = await menu.begin("new")
    model.gate.set()

    assert begun.text.startswith("A new conversation.")
    assert await answer_to(ada, assistant, "and now?") == "and now?"


@tool(needs_approval=True)
def launch(where: str) -> str:
    """Launch a rocket."""
    return f"launched to {where}"


@ON_ONE
@pytest.mark.parametrize(("said", "gone"), [("yes", True), ("no", False)])
async def test_an_open_question_is_answered_from_the_menu(
    network: Network, said: str, gone: bool
) -> None:
    model = ScriptedProvider([calling("launch", '{"where": "the moon"}'), "I did what you said."])
    assistant = await network.assistant(model, config=AssistantConfig(tools=(launch,)))
    ada, eve = await network.person(), await network.person("eve")
    ada.send(jid_of(assistant), "launch it")
    assert "May I run this tool?" in (await ada.received())["body"]

    of_eve = await Menu(eve, assistant).begin("questions")
    menu = Menu(ada, assistant)
    asked, twice = await menu.begin("questions"), await menu.begin("questions")
    settled = await menu.fill("questions", asked.session, answer=said)
    answer = (await ada.received())["body"]
    late = await menu.fill("questions", twice.session, answer=said)

    assert of_eve.text == "Nothing waits for your yes or no."
    assert 'where = "the moon"' in asked.text
    assert settled.text == ("Yes: launch runs now." if gone else "No: launch will not run.")
    assert answer == "I did what you said."
    assert ("launched to the moon" in str(model.requests[-1])) is gone
    assert late.text.startswith("That is not asked any more")


@ON_ONE
async def test_invalid_commands_are_answered_with_an_error(network: Network) -> None:
    menu, _ = await remembering(network)
    eve = Menu(await network.person("eve"), menu.agent)
    asked = await menu.begin("correct")

    unknown = await menu.command("fly")
    nobodys = await menu.command("correct", "sessionid='made-up'", filled())
    eves = await eve.command("correct", f"sessionid='{asked.session}'", filled())
    odd = await menu.command("correct", f"sessionid='{asked.session}' action='dance'")
    back = await menu.command("correct", f"sessionid='{asked.session}' action='prev'")
    wrong = await menu.fill("correct", asked.session, memory="not-a-choice")
    again = await menu.fill("correct", wrong.session, memory=value_of(wrong.options, "tea"))
    canceled = shown(await menu.command("correct", f"sessionid='{again.session}' action='cancel'"))
    over = await menu.command("correct", f"sessionid='{again.session}'", filled(text="x"))

    assert condition(unknown)[0] == "item-not-found"
    assert condition(nobodys) == ("bad-request", "bad-sessionid")
    assert condition(eves) == ("bad-request", "bad-sessionid")
    assert condition(odd) == ("bad-request", "malformed-action")
    assert condition(back) == ("bad-request", "bad-action")
    assert (wrong.status, wrong.note) == ("executing", "error")
    assert "'Which one': that is not one of the choices" in wrong.text
    assert again.fields["text"] == "Ada likes tea"
    assert canceled.status == "canceled"
    assert condition(over) == ("bad-request", "bad-sessionid")


@ON_ONE
async def test_menus_are_refused_to_jids_that_may_not_talk_to_the_agent(network: Network) -> None:
    jid, ada = await network.account("assistant"), await network.person()
    base = network.options(jid)
    admission = AdmissionPolicy(allow=("bob@localhost",))
    options = AgentOptions(connection=base.connection, data=base.data, admission=admission)
    agent = LLMAgent(jid, network.passwords[jid], ScriptedProvider.echo(), options=options)
    menu = Menu(ada, await network.start(agent))

    lines, refused = await menu.lines(), await menu.command("status")

    assert lines == {}
    assert condition(refused)[0] == "forbidden"


@pytest.mark.parametrize("server", ["prosody"], indirect=True)
@pytest.mark.server
async def test_room_occupants_cannot_use_menus(network: Network) -> None:
    room = f"menus@conference.{network.server.endpoint.domain}"
    rooms = RoomsOptions(rooms=(KnownRoom(jid=room),), nick="helper")
    ada = await Guest(await network.person(), room, "ada").enter()
    menu = Menu(ada.client, await network.assistant(config=AssistantConfig(rooms=rooms)))
    await ada.sees("helper")

    privately = await menu.command("memories")
    in_room = await menu.ask(f"<command xmlns='{COMMANDS}' node='memories'/>", to=f"{room}/helper")

    assert privately.get("type") == "result"
    assert condition(in_room)[0] == "forbidden"


@ON_ONE
async def test_a_memory_that_is_away_is_said_in_words(network: Network) -> None:
    services = Services(memory=f"nobody@{network.server.endpoint.domain}")
    menu = Menu(await network.person(), await network.assistant(services=services))

    step = await menu.begin("correct")

    assert (step.status, step.note) == ("completed", "error")
    assert step.text == "That cannot be done right now. Please try again in a moment."
