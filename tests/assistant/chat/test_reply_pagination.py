"""A reply that one message cannot carry: its rest is fetched in pages, by who asked alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import (
    ONTOLOGY,
    STORED_S,
    AnswerSource,
    BuiltContext,
    ChatReply,
    ReplyPage,
    ReplyPageRequest,
    ReplyPagination,
    ReplyRemainder,
    ToolCallReport,
    ToolRoundReport,
    fetch_whole_reply,
)
from spade_llm.assistant.chat.service import ChatService, ChatTurnInput
from spade_llm.core.errors import RequestRefused
from spade_llm.messaging import InMemoryNetwork
from spade_llm.messaging.rpc import RpcClient
from tests.messaging.node_harness import Member

SCRIPTS = ["漢字かな交じり文、", "🙂🚀", 'a<&>"\\ ', "\x07\u2028é\uffff "]


def large(text: str) -> ChatReply:
    """As large as a budget of 8000 tokens and many calls allow."""
    content = (text * 2500)[:2500]
    sources = tuple(
        AnswerSource(
            content=f"{n} {content}", source="a.md", namespace="d", chunk_index=n, score=0.5
        )
        for n in range(20)
    )
    calls = tuple(
        ToolCallReport(
            id=str(n), name="t", arguments="{}", success=True, result=content[:1000], round=1
        )
        for n in range(24)
    )
    context = BuiltContext(
        text="\n".join(one.content for one in sources), tokens=8000, sources=sources
    )
    steps = (ToolRoundReport(round=1, text=content[:1000], tools=("t",) * 24),)
    return ChatReply(text="the answer", tool_calls=calls, steps=steps, context=context)


@dataclass
class Scene:
    reply: ChatReply
    seen: list[ChatTurnInput] = field(default_factory=list)

    def __post_init__(self) -> None:
        network = InMemoryNetwork()
        self.bot = Member(network=network, jid="bot@x")
        self.ada, self.eve = (Member(network=network, jid=jid) for jid in ("ada@x", "eve@x"))
        self.service = ChatService(self.answer)
        self.service.attach(self.bot.node.dispatcher)

    async def answer(self, turn_input: ChatTurnInput) -> ChatReply:
        self.seen.append(turn_input)
        return self.reply


@pytest.mark.parametrize("text", SCRIPTS)
async def test_large_replies_in_any_script_arrive_complete(text: str) -> None:
    scene = Scene(large(text))
    client = ChatClient(scene.ada.node.requester, "bot@x")

    said = await client.say("hello", id="1")
    parts = [part async for part in client.stream("hello", id="2")]

    assert said == parts[-1] == scene.reply
    assert not scene.reply.fits_one_message


async def test_a_small_reply_is_one_message() -> None:
    scene = Scene(ChatReply(text="hello"))

    await ChatClient(scene.ada.node.requester, "bot@x").say("hello")

    assert len(scene.ada.received) == 1


async def test_other_users_cannot_read_the_rest_of_a_reply_and_it_expires() -> None:
    scene = Scene(large("🙂"))
    mine, hers = (
        RpcClient(member.node.requester, "bot@x", ONTOLOGY) for member in (scene.ada, scene.eve)
    )
    now = [0.0]
    rests = ReplyPagination(clock=lambda: now[0])
    rests.add_to(scene.service.service)
    short = rests.fitting(scene.reply, peer="ada@x")

    for peer, id in ((hers, short.rest), (mine, "unknown")):
        with pytest.raises(RequestRefused) as refused:
            await peer.ask(ReplyPageRequest(id=id, page=0), ReplyPage)
        assert refused.value.wire_code == "not-found"
    assert await fetch_whole_reply(short, mine) == scene.reply
    now[0] = STORED_S + 1
    late = await fetch_whole_reply(short, mine)

    assert (late.text, late.context, late.missing) == ("the answer", None, ("context",))
    assert [call.name for call in late.tool_calls] == ["t"] * 24


@pytest.mark.thorough
async def test_only_so_much_is_kept() -> None:
    rests = ReplyPagination()
    reply = large("🙂🚀")
    size = len(ReplyRemainder.model_validate(reply.model_dump()).model_dump_json())
    shorts = [rests.fitting(reply, peer="ada@x") for _ in range(600)]

    kept = len(rests)
    assert shorts[-1].rest
    assert kept < 500
    assert kept * size <= 17 * 1024 * 1024
