"""Ollama on this machine: its address, its models, and the download of one with progress."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli import ollama
from spade_llm.core.errors import ConfigurationError
from tests.cli.program import program_in
from tests.cli.terminal import on_terminal
from tests.ollama_server import LAYERS, OllamaServer
from tests.openai_server import running_server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.program import Program

NAME = "qwen3"
TOTAL = sum(size for _, size in LAYERS)


def program_with(tmp_path: Path, url: str, port: int = 9) -> Program:
    """On the standard agents; an Ollama is at this URL."""
    program = program_in(tmp_path, has_prosody=False, port=port)
    return replace(program, variables={"OLLAMA_HOST": url})


async def test_a_download_reports_its_progress() -> None:
    shown: list[tuple[int, int]] = []
    server = OllamaServer(library=[NAME])
    async with running_server(server):
        assert await asyncio.to_thread(ollama.list_models, server.url) == ()

        await asyncio.to_thread(
            ollama.pull_model, server.url, NAME, show=lambda *done: shown.append(done)
        )

        assert await asyncio.to_thread(ollama.list_models, server.url) == (f"{NAME}:latest",)
    assert shown[0] == (0, LAYERS[0][1])
    assert shown[-1] == (TOTAL, TOTAL)
    assert [done for done, _ in shown] == sorted(done for done, _ in shown)


@pytest.mark.parametrize(
    ("library", "breaks_off", "why"),
    [
        ([], False, "file does not exist"),
        ([NAME], True, "ended the download early"),
    ],
)
async def test_a_download_that_fails_says_why(
    library: list[str], breaks_off: bool, why: str
) -> None:
    server = OllamaServer(library=library)
    server.breaks_off = breaks_off
    async with running_server(server):
        with pytest.raises(ConfigurationError, match=f"{NAME}.*{why}.*repeat"):
            await asyncio.to_thread(ollama.pull_model, server.url, NAME, show=lambda *_: None)


async def test_without_an_ollama_there_is_no_list() -> None:
    assert await asyncio.to_thread(ollama.list_models, "http://127.0.0.1:9") is None


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://localhost:11434"),
        ("gpu", "http://gpu:11434"),
        (":8080", "http://localhost:8080"),
        ("0.0.0.0:8080", "http://localhost:8080"),
        ("https://gpu.example.org", "https://gpu.example.org:11434"),
        ("[::1]:9", "http://[::1]:9"),
    ],
)
def test_the_address_is_read_as_ollama_does(
    given: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)

    assert ollama.ollama_url() == url


async def test_a_model_that_is_missing_is_offered_in_a_terminal(tmp_path: Path) -> None:
    server = OllamaServer(library=[NAME])
    async with running_server(server):
        program = program_with(tmp_path, server.url)
        command = program.command("model", "set", f"ollama/{NAME}")
        async with on_terminal(command, program.environment, is_typed=True) as terminal:
            await terminal.shows("Download it now? [Y/n]")
            terminal.type("\n")
            await terminal.shows("answers: begins after")
            await terminal.shows("context 4096 tokens")
            assert await terminal.ended() == 0

    assert server.pulled == [NAME]


@pytest.mark.thorough
async def test_a_refused_offer_and_a_script_change_nothing(tmp_path: Path) -> None:
    server = OllamaServer("llama3:latest", library=[NAME])
    async with running_server(server):
        program = program_with(tmp_path, server.url)
        command = program.command("model", "set", f"ollama/{NAME}")
        async with on_terminal(command, program.environment, is_typed=True) as terminal:
            await terminal.shows("Download it now? [Y/n]")
            terminal.type("n\n")
            await terminal.shows("has no model")
            assert await terminal.ended() == 1
        script = await program.run("model", "set", f"ollama/{NAME}")

    assert (script.status, "ollama pull" in script.output) == (1, True)
    assert server.pulled == []


@pytest.mark.timeout(240)
async def test_up_offers_a_first_model_in_a_terminal(tmp_path: Path, unused_tcp_port: int) -> None:
    """Its assistant answers with that model."""
    server = OllamaServer(library=[ollama.SUGGESTED_MODEL])
    async with running_server(server):
        program = program_with(tmp_path, server.url, unused_tcp_port)
        folder = program.agents / "assistant" / "agent.toml"
        text = folder.read_text(encoding="utf-8")
        folder.write_text(text.replace('"offline"', '"auto"'), encoding="utf-8")
        up = program.command("up", *program.up_arguments, "--http", "off")
        async with on_terminal(up, program.environment, is_typed=True) as terminal:
            await terminal.shows(f"{ollama.SUGGESTED_MODEL} is not on the Ollama")
            terminal.type("y\n")
            await terminal.shows(f"model assistant@localhost: {ollama.SUGGESTED_MODEL} at")
            await terminal.shows("you>")
            answered = await program.run("ask", "hello")
            terminal.type("\x04")
            await terminal.ended()

    assert answered.output == "You said: hello\n"
    assert server.pulled == [ollama.SUGGESTED_MODEL]
