"""An assistant's context strategy, as its toml names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.agent_options import StrategyParts, build_context, choose_context
from spade_llm.cli.factory.deployment_spec import DeploymentSpec, read_spec, standard_deployment
from spade_llm.cli.factory.embeddings import EmbedderPool
from spade_llm.context import AdaptiveSmartContext, CombinedContext
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import ContextTable
from spade_llm.providers import OfflineProvider, ScriptedProvider
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["window", "smart", "tokens", "semantic", "compression", "adaptive_window", "adaptive"]


def an_assistant(folder: Path, context: str) -> DeploymentSpec:
    path = folder / "agent.toml"
    path.write_text(f'kind = "assistant"\njid = "a"\n[context]\n{context}')
    return read_spec(path, domain="localhost")


def embedders(folder: Path) -> EmbedderPool:
    return EmbedderPool(folder, may_download=False, say=lambda _: None)


@pytest.mark.parametrize("name", NAMES)
def test_each_strategy_can_be_named(name: str) -> None:
    stats = build_context(ContextTable(strategy=[name])).get_stats(10)

    assert stats["messages_in_context"] + stats["messages_dropped"] == 10


def test_several_strategies_make_one_context() -> None:
    table = ContextTable(strategy=["tokens", "semantic", "compression"], token_limit=900)

    context = build_context(table, StrategyParts(embedder=BagOfWords()))

    stats = context.get_stats(100)
    assert isinstance(context, CombinedContext)
    assert stats["strategy"] == "token_budget+semantic_retention+compression"
    assert (stats["token_limit"], stats["similarity_by"]) == (900, "vectors")


async def test_a_tokenizer_that_is_not_there_is_named(tmp_path: Path) -> None:
    definition = an_assistant(tmp_path, 'strategy = "tokens"\ntokenizer = "missing.json"')

    with pytest.raises(ConfigurationError, match=r"context\.tokenizer: .*missing\.json"):
        await choose_context(definition, OfflineProvider(), embedders(tmp_path))


async def test_a_tokenizer_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"model": []}')
    definition = an_assistant(tmp_path, 'strategy = "adaptive"\ntokenizer = "notes.json"')

    with pytest.raises(ConfigurationError, match=r"notes\.json is not a readable tokenizer\.json"):
        await choose_context(definition, OfflineProvider(), embedders(tmp_path))


async def test_summaries_by_a_model_are_written_by_the_assistants(tmp_path: Path) -> None:
    definition = an_assistant(tmp_path, 'strategy = "adaptive"\nsummary_by = "model"')

    by_model = await choose_context(definition, ScriptedProvider(), embedders(tmp_path))
    by_rules = await choose_context(definition, OfflineProvider(), embedders(tmp_path))

    assert by_model.get_stats(0)["summary_by"] == "model"
    assert by_rules.get_stats(0)["summary_by"] == "words"


async def test_the_standard_assistant_adapts_and_loads_no_embedder(tmp_path: Path) -> None:
    path = standard_deployment() / "assistant" / "agent.toml"
    definition = read_spec(path, domain="localhost")

    context = await choose_context(definition, OfflineProvider(), embedders(tmp_path))

    assert isinstance(context, AdaptiveSmartContext)
    assert context.get_stats(0)["similarity_by"] == "words"
