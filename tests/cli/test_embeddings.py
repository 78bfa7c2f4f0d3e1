"""What an agent's file says about embeddings, and that agents of one process share them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.deployment_spec import DeploymentSpec, read_spec
from spade_llm.cli.factory.embeddings import KEYWORDS_ONLY, EmbedderPool, models_directory
from spade_llm.core.errors import ConfigurationError
from spade_llm.providers import MiniLmEmbedder, OpenAIEmbedder, find_weights
from tests.openai_server import OpenAIServer, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def embedders(tmp_path: Path) -> AsyncIterator[EmbedderPool]:
    async with EmbedderPool(tmp_path, may_download=False, say=lambda _: None) as opened:
        yield opened


def definition(folder: Path, kind: str, embeddings: str) -> DeploymentSpec:
    path = folder / kind / "agent.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'kind = "{kind}"\njid = "{kind}"\n{embeddings}\n', encoding="utf-8")
    return read_spec(path, domain="localhost")


async def test_none_is_keywords_only(tmp_path: Path, embedders: EmbedderPool) -> None:
    memory = definition(tmp_path, "memory", 'embeddings = "none"')

    assert await embedders.get(memory) is None
    assert await embedders.describe(memory) == KEYWORDS_ONLY


async def test_agents_of_one_process_share_the_local_model(
    tmp_path: Path, embedders: EmbedderPool
) -> None:
    if find_weights(models_directory(tmp_path)) is None:
        pytest.skip("the weights are not installed")
    wanted = [
        definition(tmp_path, "memory", 'embeddings = "auto"'),
        definition(tmp_path, "rag", 'embeddings = "installed"'),
    ]

    first, second = [await embedders.get(one) for one in wanted]

    assert isinstance(first, MiniLmEmbedder)
    assert second is first


async def test_equal_embedding_servers_share_one_client(
    tmp_path: Path, embedders: EmbedderPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    async with running_server(OpenAIServer(api_key="sk-mine")) as server:
        table = "\n".join(
            (
                "[embeddings]",
                'kind = "openai_compatible"',
                f'base_url = "{server.base_url}"',
                'model = "words"',
                'api_key_env = "MY_KEY"',
                "dimension = 32",
            )
        )
        async with AsyncExitStack() as stack:
            memory = await embedders.get(definition(tmp_path, "memory", table))
            rag = await embedders.get(definition(tmp_path, "rag", table))
            stack.push_async_callback(embedders.__aexit__)

            assert isinstance(memory, OpenAIEmbedder)
            assert rag is memory
            assert (await memory.embed(["one"])).shape == (1, 32)


async def test_a_key_that_is_not_set_is_named(tmp_path: Path, embedders: EmbedderPool) -> None:
    table = (
        '[embeddings]\nkind = "openai_compatible"\nbase_url = "http://127.0.0.1:1/v1"\n'
        'model = "m"\napi_key_env = "NO_SUCH_KEY_IS_SET"'
    )

    with pytest.raises(ConfigurationError, match=r"api_key_env: .*NO_SUCH_KEY_IS_SET"):
        await embedders.get(definition(tmp_path, "memory", table))
