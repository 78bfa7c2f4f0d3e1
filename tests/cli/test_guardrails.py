"""`[[guardrails]]` of an agent.toml: what is wrong is named by file, table and fix."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.agent_options import build_guardrails
from spade_llm.cli.factory.deployment_spec import read_spec
from spade_llm.core.errors import ConfigurationError
from spade_llm.guardrails import Guardrail, GuardrailAction, GuardrailResult
from spade_llm.providers import OfflineProvider, ScriptedProvider

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.factory.agent_options import Guardrails
    from spade_llm.providers import ChatModel

TOML = """
kind = "assistant"
jid = "ada"

[[guardrails]]
kind = "keyword"
name = "words"
on = "input"
keywords = ["Hack"]
message = "Not with me."

[[guardrails]]
kind = "regex"
on = "output"
patterns = ['(\\d{3})-\\d{4}']
action = "modify"
replacement = '\\1-XXXX'

[[guardrails]]
kind = "model"
rules = "No poems."
"""
MISTAKES = {
    "a pattern that is none": (
        "kind = 'regex'\npatterns = ['(']",
        "guardrails.0: guardrail 'guardrails.0': pattern '('",
    ),
    "a replacement without its group": (
        "kind = 'regex'\npatterns = ['a']\naction = 'modify'\nreplacement = '\\1'",
        "invalid group reference",
    ),
    "an invisible keyword": ("kind = 'keyword'\nkeywords = ['\u200b']", "something visible"),
    "a judge that has no model": ("kind = 'model'", "needs a language model"),
    "a judge without its key": (
        "kind = 'model'\nprovider = {kind = 'openai', api_key_env = 'NO_SUCH_KEY'}",
        "guardrails.0.provider.api_key_env",
    ),
}


async def built(folder: Path, text: str, model: ChatModel) -> Guardrails:
    path = folder / "agent.toml"
    path.write_text(text, encoding="utf-8")
    definition = read_spec(path, domain="localhost")
    async with AsyncExitStack() as stack:
        return await build_guardrails(definition, model, folder, stack)


async def result_of(guardrail: Guardrail, text: str) -> GuardrailResult:
    return await guardrail(text, {})


async def test_guardrails_stand_where_the_file_puts_them(tmp_path: Path) -> None:
    judge = ScriptedProvider(['{"safe": true}'])

    found = await built(tmp_path, TOML, judge)

    assert [one.name for one in found.input] == ["words", "guardrails.2"]
    assert [one.name for one in found.output] == ["guardrails.1", "guardrails.2"]
    blocked = await result_of(found.input[0], "I hack")
    assert (blocked.action, blocked.custom_message) == (GuardrailAction.BLOCK, "Not with me.")
    assert (await result_of(found.output[0], "call 555-1234")).content == "call 555-XXXX"
    assert (await result_of(found.output[1], "a rose")).action is GuardrailAction.PASS
    assert str(judge.requests[0].messages[0]["content"]).startswith("No poems.")


@pytest.mark.parametrize(("text", "said"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_a_mistake_is_named_by_file_and_table(tmp_path: Path, text: str, said: str) -> None:
    toml = f'kind = "assistant"\njid = "ada"\n[[guardrails]]\n{text}\n'

    with pytest.raises(ConfigurationError) as error:
        await built(tmp_path, toml, OfflineProvider())

    assert str(error.value).startswith(str(tmp_path / "agent.toml"))
    assert said in str(error.value)


async def test_a_file_without_guardrails_has_none(tmp_path: Path) -> None:
    found = await built(tmp_path, 'kind = "assistant"\njid = "ada"\n', OfflineProvider())

    assert (found.input, found.output) == ((), ())
