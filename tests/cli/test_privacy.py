"""The standard agents contact nothing that was not configured, and write nothing below the home
directory; seen by the kernel's calls of all processes (strace)."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import Program, program_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="strace is for Linux"),
    pytest.mark.skipif(
        shutil.which("strace") is None and os.environ.get("SPADE_LLM_REQUIRE_SERVERS") != "1",
        reason="no strace on PATH",
    ),
]

_SENDS = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(")
_ADDRESS = re.compile(
    r"sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\""
)
_BOUND = re.compile(r"\bbind\(.*?sin6?_port=htons\((\d+)\)|getsockname\(.*?htons\((\d+)\)")
_NAME_SERVICE = ("nscd", "resolve", "avahi")
"""Parts of paths of local sockets that resolve names for others."""


@pytest.mark.parametrize(
    ("server", "layout"),
    [
        ("embedded", ()),
        pytest.param("prosody", ("--processes",), marks=pytest.mark.server),
    ],
    ids=["embedded-one", "prosody-processes"],
)
async def test_a_chat_contacts_nothing_but_our_own_servers_and_leaves_the_home_directory_alone(
    tmp_path: Path, unused_tcp_port: int, server: str, layout: tuple[str, ...]
) -> None:
    program = _traced(
        program_in(tmp_path, has_prosody=server == "prosody", port=unused_tcp_port), tmp_path
    )

    async with program.up(*layout) as up:
        await up.ready()
        answer = await program.run("ask", "what is 12 * 12?")
        await up.stop(group=True)
    calls = await asyncio.to_thread(_calls, tmp_path)

    assert "144" in answer.output
    assert "onnxruntime" in calls, "the embedder was not loaded: nothing was tested"
    assert _foreign(calls) == []
    assert os.listdir(tmp_path / "home") == []


def test_the_check_finds_lookups_and_strangers() -> None:
    ours = [_call("bind", 5222, "127.0.0.1"), _call("connect", 5222, "127.0.0.1")]
    foreign = [
        _call("connect", 53, "127.0.0.53"),
        _call("connect", 443, "192.0.2.1"),
        _call("connect", 5222, "192.0.2.1"),
        _call("sendto", 53, "127.0.0.1"),
        "connect(4, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0),"
        ' inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = 0',
        'connect(4, {sa_family=AF_UNIX, sun_path="/run/nscd/socket"}, 110) = -1',
    ]

    assert _foreign("\n".join([*ours, *foreign])) == foreign


def _call(name: str, port: int, address: str) -> str:
    where = f'sin_port=htons({port}), sin_addr=inet_addr("{address}")'
    return f"{name}(4, {{sa_family=AF_INET, {where}}}, 16) = 0"


def _traced(program: Program, folder: Path) -> Program:
    """With an embedder, without looking for a model on this machine, with a home directory of its
    own, and each process's calls in a file."""
    for name in ("memory", "rag"):
        path = program.agents / name / "agent.toml"
        text = path.read_text(encoding="utf-8")
        text = text.replace('embeddings = "none"', 'embeddings = "auto"')
        path.write_text(text.replace('kind = "auto"', 'kind = "offline"'), "utf-8")
    home, traces = folder / "home", folder / "traces"
    home.mkdir()
    traces.mkdir()
    tracer = ("strace", "-ff", "--seccomp-bpf", "-qq", "-e", "trace=network,openat")
    # Its own path: without Prosody the command's PATH is empty.
    strace = shutil.which(tracer[0]) or tracer[0]
    output = ("-o", str(traces / "calls"))
    return replace(program, tracer=(strace, *tracer[1:], *output), variables={"HOME": str(home)})


def _calls(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in (folder / "traces").iterdir())


def _foreign(calls: str) -> list[str]:
    """The calls that contact anything but what listens in the same trace, on the loopback."""
    lines = calls.splitlines()
    bound = {port for line in lines for found in _BOUND.findall(line) for port in found}
    return [line for line in lines if _SENDS.search(line) and not _is_own(line, bound)]


def _is_own(line: str, bound: set[str]) -> bool:
    if "AF_UNIX" in line:
        return not any(part in line for part in _NAME_SERVICE)
    return all(
        port in bound and (address.startswith("127.") or address == "::1")
        for port, address in _ADDRESS.findall(line)
    )
