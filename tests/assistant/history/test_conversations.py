"""Histories and commands: bounded, and never a tool result without its call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.commands.command_registry import (
    Command,
    mistyped_command,
    parse_command,
    parse_plain_word,
)
from spade_llm.assistant.history.conversation_cache import (
    MAX_MESSAGES,
    Conversation,
    ConversationCache,
)
from spade_llm.assistant.turn.prompt import call_message, result_message, user_message
from spade_llm.providers import Completion, ToolCall


def test_a_long_conversation_loses_its_oldest_exchanges_whole() -> None:
    call = ToolCall(id="1", name="x", arguments="{}")
    conversation = Conversation("k", "you@x")

    for _ in range(MAX_MESSAGES):
        conversation.extend(
            [
                user_message("q", peer="you@x"),
                call_message(Completion(tool_calls=(call,))),
                result_message(call, "r"),
                {"role": "assistant", "content": "a"},
            ]
        )

    assert len(conversation.messages) <= MAX_MESSAGES
    assert conversation.messages[0]["role"] == "user"


def test_the_conversation_that_was_idle_longest_leaves_first() -> None:
    conversations = ConversationCache(max_conversations=2)
    first = conversations.get("a", peer="a@x")
    conversations.get("b", peer="b@x")
    assert conversations.get("a", peer="a@x") is first

    conversations.get("c", peer="c@x")

    assert len(conversations) == 2
    assert conversations.get("a", peer="a@x") is first


def test_a_conversation_that_leaves_is_announced() -> None:
    conversations = ConversationCache(max_conversations=1)
    left: list[str] = []
    conversations.on_change.append(lambda conversation: left.append(conversation.key))

    conversations.get("a", peer="a@x")
    conversations.get("b", peer="b@x")
    conversations.drop_peer("b@x")

    assert left == ["a", "b"]


def test_a_conversation_that_rested_leaves_and_the_others_stay() -> None:
    now = [0.0]
    conversations = ConversationCache(idle_s=60, clock=lambda: now[0])
    rested = conversations.get("a", peer="a@x")
    now[0] = 30
    used = conversations.get("b", peer="b@x")
    assert conversations.next_expiry_s() == 30

    now[0] = 60
    conversations.expire()

    assert len(conversations) == 1
    assert conversations.next_expiry_s() == 30
    assert conversations.get("b", peer="b@x") is used
    assert conversations.get("a", peer="a@x") is not rested


def test_unsaved_messages_never_expire() -> None:
    now = [0.0]
    conversations = ConversationCache(idle_s=None, clock=lambda: now[0])
    kept = conversations.get("a", peer="a@x")

    now[0] = 1e9
    conversations.expire()

    assert conversations.get("a", peer="a@x") is kept


def test_dropping_a_person_drops_all_their_threads() -> None:
    conversations = ConversationCache()
    for key in ("ada@x", "ada@x#t1"):
        conversations.get(key, peer="ada@x")
    conversations.get("bob@x", peer="bob@x")

    conversations.drop_peer("ada@x")

    assert len(conversations) == 1


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", Command(name="help")),
        ("  /Forget  all ", Command(name="forget", argument="all")),
        ("//memories tea", Command(name="memories", argument="tea")),
        ("/ayuda", Command(name="help")),
        ("///help", None),
        ("/memories rowing club", Command(name="memories", argument="rowing club")),
        ("/me waves", None),
        ("/etc/passwd", None),
        ("help", None),
        ("", None),
    ],
)
def test_only_our_commands_are_commands(text: str, command: Command | None) -> None:
    assert parse_command(text, {"help", "new", "status", "memories", "forget"}) == command


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/hlep", "help"),
        ("/memorys tea", "memories"),
        ("//Forgett all", "forget"),
        ("/help", ""),
        ("/me waves", ""),
        ("/etc/passwd", ""),
        ("/translate hello", ""),
        ("hlep", ""),
    ],
)
def test_a_misspelled_command_is_answered_with_the_right_one(text: str, name: str) -> None:
    answer = mistyped_command(text, {"help", "new", "memories", "forget"})

    assert (f"Did you mean /{name}?" in answer) if name else answer == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("help", "help"),
        (" Help! ", "help"),
        ("STATUS?", "status"),
        ("¿Ayuda?", "help"),
        ("recuerdos", "memories"),
        ("help me with my taxes", ""),
        ("memories tea", ""),
        ("help help", ""),
        ("why", ""),
        ("why?", ""),
        ("new", ""),
        ("forget", ""),
        ("/help", ""),
        ("?", ""),
        ("", ""),
    ],
)
def test_a_word_alone_is_a_command_if_all_it_does_is_show_something(text: str, name: str) -> None:
    assert parse_plain_word(text) == (Command(name=name) if name else None)


def test_opening_many_conversations_evicts_only_ones_own() -> None:
    conversations = ConversationCache(max_of_peer=3)
    mine = conversations.get("ada", peer="ada@x")

    for number in range(10_000):
        conversations.get(f"eve#{number}", peer="eve@x")

    assert conversations.keys() == ["ada", "eve#9997", "eve#9998", "eve#9999"]
    assert conversations.get("ada", peer="ada@x") is mine
    conversations.drop_peer("eve@x")
    assert conversations.keys() == ["ada"]


@given(st.lists(st.tuples(st.sampled_from(["get", "drop", "expire"]), st.integers(0, 12))))
def test_no_bound_is_passed_whatever_comes_and_goes(steps: list[tuple[str, int]]) -> None:
    now = [0.0]
    conversations = ConversationCache(
        max_conversations=5, max_of_peer=2, idle_s=10, clock=lambda: now[0]
    )
    for what, number in steps:
        now[0] += 1
        key, peer = f"{number % 4}@x#{number}", f"{number % 4}@x"
        if what == "get":
            assert conversations.get(key, peer=peer).key == key
        elif what == "drop":
            conversations.drop(key)
        else:
            conversations.expire()

        peers = [one.partition("#")[0] for one in list(conversations.keys())]
        assert len(peers) <= 5
        assert all(peers.count(one) <= 2 for one in peers)
