"""The chat in a terminal: a prompt beside the answer, keys, history, completion."""

from __future__ import annotations

import asyncio
import stat
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from spade_llm.cli import terminal_chat
from spade_llm.cli.terminal_chat import BoundedHistory, CommandCompleter, parse_commands
from tests.cli.program import Program, program_in
from tests.cli.terminal import OnTerminal, on_terminal
from tests.openai_server import Call, Say, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.openai_server import OpenAIServer

HELP = """I am an assistant in a chat: just write to me. Commands:
/help – this list
/memories [words] – what I remember about you
/correct NUMBER new text – say how one of them really is
/learn on, /learn off – whether I remember
/documents delete NAME – delete one of the files
help, memories and status also work alone"""


def test_commands_are_read_from_the_help() -> None:
    assert [command for command, _ in parse_commands(HELP)] == [
        *("/help", "/memories", "/correct", "/learn on", "/learn off", "/documents delete")
    ]


def test_only_commands_are_completed() -> None:
    completer = CommandCompleter()
    completer.commands += parse_commands(HELP)

    def completions(text: str) -> list[str]:
        found = completer.get_completions(Document(text), CompleteEvent())
        return [one.text for one in found]

    assert completions("/le") == ["/learn on", "/learn off"]
    assert completions("le") == []
    assert completions("/help") == []


def test_the_history_is_private_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_chat, "MAX_HISTORY", 3)
    path = tmp_path / "history"
    path.touch(mode=0o644)
    history = BoundedHistory(path)
    for text in ("one", "two\nlines", "three", "x" * 20_000, "four", "five"):
        history.append_string(text)

    again = BoundedHistory(path)

    assert list(again.load_history_strings()) == ["five", "four", "three"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "one" not in path.read_text()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def network(
    tmp_path_factory: pytest.TempPathFactory, unused_tcp_port_factory: Callable[[], int]
) -> AsyncIterator[tuple[Program, OpenAIServer]]:
    """An `up` with a scripted model, and a tool that asks first."""
    folder = tmp_path_factory.mktemp("network")
    program = program_in(folder, has_prosody=False, port=unused_tcp_port_factory())
    async with running_server() as server:
        toml = program.agents / "assistant" / "agent.toml"
        model = f'kind = "openai_compatible"\nmodel = "m"\nbase_url = "{server.base_url}"'
        toml.write_text(toml.read_text().replace('kind = "offline"', model))
        tools = program.agents / "tools" / "agent.toml"
        tools.write_text(f'{tools.read_text()}\n[tools.calculator]\napproval = "ask"\n')
        async with program.up("--http", "off") as up:
            await up.ready()
            yield program, server


@pytest_asyncio.fixture(loop_scope="module")
async def chat(network: tuple[Program, OpenAIServer]) -> AsyncIterator[OnTerminal]:
    program, _ = network
    command = program.command("chat")
    async with on_terminal(command, program.environment, is_typed=True) as chat:
        await chat.shows("Chatting with assistant@localhost")
        await chat.shows("you> ")
        yield chat


@pytest.mark.quick
@pytest.mark.timeout(240)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_prompt_stays_usable_while_an_answer_grows(
    chat: OnTerminal, network: tuple[Program, OpenAIServer]
) -> None:
    program, server = network
    gate = asyncio.Event()
    server.enqueue(Say(text="**First** part\n\nand the last words", gate=gate), Say(text="Next."))

    chat.type("Tell me\r")
    await chat.shows("First part")
    chat.type("two\\\rlines\r")
    await chat.shows("1 more to send")
    gate.set()

    await chat.shows("and the last words")
    await chat.shows("you> two\n...> lines")
    await chat.shows("Next.")
    chat.type("\x04")
    assert await chat.ended() == 0
    assert "+two\n+lines" in (program.data / "chat-history").read_text()


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.asyncio(loop_scope="module")
async def test_ctrl_c_stops_the_answer_then_clears_the_line_then_leaves(
    chat: OnTerminal, network: tuple[Program, OpenAIServer]
) -> None:
    _, server = network
    server.enqueue(Say(text="Begun and never ended", gate=asyncio.Event()))

    chat.type("Tell me\r")
    await chat.shows("Begun")
    chat.type("draft")
    await chat.shows("draft")
    chat.type("\x03")
    await chat.shows("(stopped)")
    await chat.shows("draft")
    chat.type("\x03\x03")

    assert await chat.ended() == 0


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.asyncio(loop_scope="module")
async def test_one_ctrl_c_at_an_empty_prompt_says_how_to_leave(chat: OnTerminal) -> None:
    chat.type("\x03")
    await chat.shows("(Ctrl-C again or Ctrl-D leaves)")
    chat.type("/quit\r")

    assert await chat.ended() == 0


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.asyncio(loop_scope="module")
async def test_tab_completes_a_command_of_the_assistant(chat: OnTerminal) -> None:
    chat.type("/memo")
    await chat.shows("what I remember about you")
    chat.type("\t\r")

    await chat.shows("I remember nothing about you")


@pytest.mark.thorough
@pytest.mark.timeout(240)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_question_puts_what_is_typed_aside(
    chat: OnTerminal, network: tuple[Program, OpenAIServer]
) -> None:
    program, server = network
    gate = asyncio.Event()
    call = Call(name="calculator", arguments='{"expression": "12*12"}')
    server.enqueue(Say(text="", calls=(call,), gate=gate), Say(text="It is 144."))

    chat.type("Calculate\r")
    await chat.shows("waiting for assistant@localhost")
    chat.type("my draft")
    await chat.shows("my draft")
    gate.set()
    await chat.shows("May I run this tool?")
    await chat.shows("yes or no> ")
    chat.type("yes\r")
    await chat.shows("It is 144.")
    await chat.shows("my draft")

    assert "+yes" not in (program.data / "chat-history").read_text()
