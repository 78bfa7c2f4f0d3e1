"""ContextManager and the messages that it holds, under the names of spade_llm 0.3."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import LLMAgent
from spade_llm.compat.context_manager import generate_conversation_id
from spade_llm.context import (
    ContextManagement,
    ContextManager,
    WindowSizeContext,
    create_assistant_tool_call_message,
    create_tool_result_message,
    create_user_message,
    spade_message_to_user_message,
)
from spade_llm.core.settings import load_env_vars
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.xmpp.spade_adapters import SpadeMessage
from tests.integration.network import answer_to

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.context import ContextStats
    from spade_llm.providers.model import ContextMessage
    from tests.integration.network import Network


def spade_message(text: str) -> SpadeMessage:
    return SpadeMessage(to="bot@localhost", sender="ada@localhost/desk", body=text)


def test_the_prompt_is_what_the_strategy_keeps_behind_the_system_prompt() -> None:
    context = ContextManager(
        system_prompt="Be brief.", context_management=WindowSizeContext(max_messages=2)
    )

    for number in range(3):
        context.add_message(spade_message(f"question {number}"), "c1")
        context.add_assistant_message(f"answer {number}")

    assert [one["content"] for one in context.get_prompt("c1")] == [
        *("Be brief.", "question 2", "answer 2"),
    ]
    assert len(context.get_conversation_history("c1")) == 6
    assert context.get_context_stats("c1") == {
        "strategy": "window_size",
        "max_messages": 2,
        "total_messages": 6,
        "messages_in_context": 2,
        "messages_dropped": 4,
    }


def test_conversations_are_apart_and_are_cleared_one_by_one() -> None:
    context = ContextManager()
    context.add_message_dict(create_user_message("hello"), "c1")
    context.add_message_dict(create_user_message("hi"), "c2")

    context.clear("c1")
    was_set = context.set_current_conversation("c1")

    assert context.get_active_conversations() == ["c2"]
    assert context.get_prompt("c1") == []
    assert not was_set
    context.clear("all")
    assert context.get_active_conversations() == []


def test_without_a_conversation_there_is_nothing_to_add_to() -> None:
    with pytest.raises(ValueError, match="conversation_id"):
        ContextManager().add_assistant_message("hello")


def test_a_spade_message_is_named_after_its_sender() -> None:
    message = spade_message_to_user_message(spade_message("hello"))

    assert message == {"role": "user", "content": "hello", "name": "ada_localhost"}


def test_a_tool_call_and_its_result_are_what_models_read() -> None:
    call = create_assistant_tool_call_message([{"id": "1", "name": "add", "arguments": {"a": 1}}])
    result = create_tool_result_message(3, "1")

    assert call["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert result == {"role": "tool", "content": "3", "tool_call_id": "1"}


def test_a_message_keeps_its_conversation_id() -> None:
    message = spade_message("hello")

    first = generate_conversation_id(message)

    assert first.startswith("ada_bot_")
    assert generate_conversation_id(message) == first


def test_an_env_file_sets_what_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOWN", "before")
    monkeypatch.delenv("NEW", raising=False)
    text = "# of ours\nexport NEW='a b' # why\nKNOWN=after\nEMPTY=\n"
    (tmp_path / ".env").write_text(text, encoding="utf-8")

    found = load_env_vars()
    assert found == {"NEW": "a b", "KNOWN": "after", "EMPTY": ""}
    assert (os.environ.pop("NEW"), os.environ["KNOWN"], os.environ.pop("EMPTY")) == (
        *("a b", "before", ""),
    )


class LastTwo(ContextManagement):
    """A strategy as programs for spade_llm 0.3 write it: it returns messages only."""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        return messages[-2:]

    def get_stats(self, total_messages: int) -> ContextStats:
        kept = min(total_messages, 2)
        return {
            "strategy": "last two",
            "total_messages": total_messages,
            "messages_in_context": kept,
            "messages_dropped": total_messages - kept,
        }


async def test_a_strategy_that_returns_messages_only_keeps_the_system_prompt(
    network: Network,
) -> None:
    model = ScriptedProvider.echo()
    jid = await network.account("assistant")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        model,
        context_management=LastTwo(),
        system_prompt="Be brief.",
        options=network.options(jid),
    )
    await network.start(agent)
    ada = await network.person()

    await answer_to(ada, agent, "one")
    await answer_to(ada, agent, "two")

    (read,) = (one.messages for one in list(model.requests)[1:])
    assert [one["content"] for one in read] == ["Be brief.", "one", "two"]
    manager = ContextManager(system_prompt="Be brief.", context_management=LastTwo())
    manager.add_message_dict(create_user_message("hello"), "c1")
    assert [one["content"] for one in manager.get_prompt("c1")] == ["Be brief.", "hello"]
