"""The wire reference is complete, and agents answer its requests as it says."""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import re
import sys
from contextlib import AsyncExitStack
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from spade_llm import assistant, memory, messaging, rag, tools
from spade_llm.messaging import Body
from spade_llm.messaging.operation import operations
from spade_llm.messaging.rpc import RpcClient
from tests.cli.program import ROOT
from tests.integration.network import Network, jid_of
from tests.wire_reference.examples import EXAMPLES
from tests.wire_reference.page import PROGRAM, page
from tests.wire_reference.recorder import record_all, start_recorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Provisioner

PAGE = ROOT / "docs" / "wire-reference.md"
_BLOCK = re.compile(r"```xml\n(.*?)```\n", re.DOTALL)


def test_every_operation_has_an_example() -> None:
    for package in (assistant, memory, messaging, rag, tools):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    shown = {
        type(one.request)
        for examples in EXAMPLES.values()
        for example in examples
        for one in filter(None, (example, example.when_asked))
    }

    derived = {
        operation.request
        for client in RpcClient.__subclasses__()
        for operation in operations(client)
    }

    assert {body for body in _bodies(Body) if body.op} | derived == shown


@pytest.mark.server
async def test_agents_answer_as_the_page_says(prosody: Provisioner, tmp_path: Path) -> None:
    for name in ("agents", "documents"):
        (tmp_path / name).mkdir()
    async with AsyncExitStack() as stack:
        network = Network(server=prosody, directory=tmp_path / "agents", stack=stack)
        recorder = await start_recorder(network, tmp_path / "documents")
        recorded = page(await record_all(recorder))

    expected = await asyncio.to_thread(PAGE.read_text, encoding="utf-8")
    assert _BLOCK.sub("", recorded) == _BLOCK.sub("", expected)
    assert _shapes(recorded) == _shapes(expected)


@pytest.mark.server
async def test_the_program_of_the_page_calls_a_memory_agent(
    prosody: Provisioner, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        network = Network(server=prosody, directory=tmp_path, stack=stack)
        memory, jid = await network.memory(), await network.account("ada")
        endpoint = prosody.endpoint
        arguments = [jid, network.passwords[jid], jid_of(memory)]
        arguments += [endpoint.host, str(endpoint.port), str(endpoint.ca_path)]
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, *arguments, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await asyncio.wait_for(program.communicate(), 60)

    added, found = printed.decode().splitlines()
    assert added.startswith("('inform', {'entry': {'id': ")
    assert "'content': 'Ada prefers green tea'" in found


def _bodies(cls: type[Body]) -> Iterator[type[Body]]:
    for subclass in cls.__subclasses__():
        if subclass.__module__.startswith("spade_llm."):
            yield subclass
        yield from _bodies(subclass)


def _shapes(text: str) -> list[object]:
    """What each stanza has: its attributes, and the keys and types of its body. How many parts a
    stream has depends on the clock, so that neighbours of one shape count once."""
    shapes = [_shape_of(block) for block in _BLOCK.findall(text)]
    return [shape for shape, _ in groupby(shapes)]


def _shape_of(stanza: str) -> object:
    xml = ElementTree.fromstring(stanza)
    acl = xml.find("{urn:spade-llm:acl:1}acl")
    assert acl is not None
    parameters = {key: value for key, value in acl.items() if key != "sequence"}
    body = xml.findtext("body") or "{}"
    is_request = acl.get("performative") == "request"
    return (
        xml.get("from"),
        xml.get("to"),
        parameters,
        body if is_request else _types(json.loads(body)),
    )


def _types(value: object) -> object:
    if isinstance(value, dict):
        return {key: _types(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_types(inner) for inner in value[:1]]
    return "number" if isinstance(value, int | float) else type(value).__name__
