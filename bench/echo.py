"""The least service of ours: one READ op that gives its text back, through the whole contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.messaging import Body
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.xmpp.agent import AgentOptions, XmppAgent

if TYPE_CHECKING:
    from spade_llm.messaging import Request, Requester

ONTOLOGY = "spade-llm.bench/1"
TIMEOUT_S = 60.0


class Echo(Body):
    op: ClassVar[str] = "echo"
    text: str


class Echoed(Body):
    text: str


class EchoAgent(XmppAgent):
    def __init__(self, jid: str, password: str, *, options: AgentOptions | None = None) -> None:
        super().__init__(jid, password, options=options)
        service = RpcService(ONTOLOGY)
        service.on(Echo, self._echo)
        service.attach(self.node.dispatcher)

    async def _echo(self, _request: Request, body: Echo) -> Echoed:
        return Echoed(text=body.text)


class EchoClient:
    def __init__(self, requester: Requester, jid: str) -> None:
        self._peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=TIMEOUT_S)

    async def ask(self, text: str) -> str:
        return (await self._peer.ask(Echo(text=text), Echoed)).text
