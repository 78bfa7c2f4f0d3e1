"""Old import paths: public packages and names that have moved, found by a module finder.

Programs written for spade_llm 0.2/0.3 and for earlier layouts of this package go on importing
`spade_llm.agent`, `spade_llm.acl` or `spade_llm.context._types`. No file stands there any more: the
finder makes an empty module that looks a name up when it is used. Imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

ROOT = __name__.rpartition(".")[0]

MOVED_PACKAGES = {
    "acl": {
        "messaging.body": (
            "MAX_BODY_BYTES Body Empty ErrorBody RequestBody glimpse_op=peek_op read_request"
        ),
        "messaging.message": (
            "CHAT_TEXT CHAT_TYPE FOR_MODELS=FOR_MODELS_METADATA MESSAGE_TYPE "
            "NOTHING_SAID=NO_CHAT_METADATA PRINCIPAL Said=ChatMetadata TERMINAL AclMessage "
            "Encoding Performative bare from_metadata new_id to_metadata"
        ),
    },
    "agent": {
        "agents.chat": "ChatAgent run_interactive_chat",
        "agents.coordinator": "CoordinatorAgent",
        "agents.gateway": "GatewayAgent",
        "agents.llm": "LLMAgent Services",
        "agents.memory": "MemoryAgent",
        "agents.rag": "RAGAgent RagOptions",
        "agents.tools": "ToolAgent",
        "assistant.config": "Conduct=AssistantConfig TurnLimits",
        "assistant.delegation.expert_questions": "Expert",
        "compat.retrieval_agent": "RetrievalAgent",
        "xmpp.agent": "AgentOptions XmppAgent",
        "xmpp.connection.settings": "Connection=ConnectionSettings",
    },
    "behaviour": {
        "assistant.turn.llm_behaviour": "LLMBehaviour",
        "compat.retrieval_agent": "RetrievalBehaviour",
        "compat.tools": "HumanInteractionBehaviour",
    },
    "conversation": {},
    "conversation.peer_limits": {
        "assistant.middleware.quota": "CrowdLimits=GroupQuotas PeerLimits=PeerQuota"
    },
    "errors": {
        "core.errors": (
            "ApprovalNeeded=ApprovalRequired AuthenticationRejected Busy Cancelled "
            "CertificateRejected ConfigurationError ContextTooLong "
            "ConversationOver=ConversationEnded DeadlinePassed EmptyModelOutput Failure "
            "ForeignHost=HostNotAllowed Interrupted InvalidAnswer InvalidArguments "
            "InvalidModelOutput MalformedContent ModelDenied ModelError ModelUnavailable "
            "NoSuchPath=PathNotFound NotFound NotOffered=NotConfigured PeerUnavailable "
            "PortTaken=PortInUse ProtocolError QuotaReached=QuotaExceeded RateLimited Refusal "
            "RegistrationPaused=RegistrationThrottled RequestError RequestFailed "
            "RequestNotUnderstood RequestRefused RequestTimeout ServerUnreachable ServiceError "
            "SpadeLLMError StorageFailed ToolFailed TooLarge Unauthorised Unavailable "
            "UnknownOntology UnknownTool"
        ),
    },
    "memory.backends": {
        "compat.memory_backends": "MemoryBackend MemoryEntry SQLiteMemoryBackend",
    },
    "routing": {
        "assistant.middleware.routing": (
            "Routed RoutedMessage RoutingFunction RoutingResponse RoutingRule first_of routing_rule"
        ),
    },
    "runtime": {
        "messaging.answer_log": (
            "AnswerLog SqliteAnswerLog=PersistentAnswerLog VolatileAnswerLog fingerprint"
        ),
        "messaging.dispatcher": "Dispatcher Limits=DispatcherLimits Load=DispatcherLoad",
        "messaging.request": (
            "Answered=HandledRequest Effect=Idempotency Handler Request Route "
            "Stopped=StoppedRequests"
        ),
        "messaging.requester": (
            "Asker=ReplyListener Asks=RequestSender Node Question=OutgoingRequest Requester "
            "SpeakingFor=PrincipalRequester"
        ),
        "messaging.transport": "Bounce InMemoryNetwork InMemoryTransport Receiver Send Transport",
    },
    "services": {},
    "services.chat": {
        "assistant.chat.client": "ChatClient",
        "assistant.chat.messages": (
            "Approve=ApproveRequest Asked=ApprovalPrompt Delta=AnswerDelta "
            "Generate=CompletionRequest Reply=ChatReply Say=SayRequest ToolUse=ToolCallReport"
        ),
        "assistant.chat.service": "ChatService Utterance=ChatTurnInput",
    },
    "services.memory": {"memory.remote": "MemoryClient MemoryService"},
    "services.rag": {"rag.remote": "RagClient RagService"},
    "services.tools": {"tools.remote": "ToolService ToolsClient"},
    "structured_output": {"compat.tools": "ReadyForStructuredOutputTool"},
    "tools.mcp": {
        "mcp.client.pins": "Pins",
        "mcp.server_configs": (
            "HttpServer=HttpEndpoint McpServer=McpServerSettings StdioServer=StdioEndpoint"
        ),
        "mcp.client.mcp_toolbox": "McpToolbox",
    },
    "utils": {
        "compat.context_manager": "generate_conversation_id generate_unique_id",
        "compat.retrieval_agent": "create_retrieval_response_body format_documents_for_response",
        "core.settings.environment": "load_env_vars",
    },
}
"""Public names of packages that no longer exist, by the module that defines each today. `Old=New`
where the name has changed, too."""

RENAMED = {
    "": {"xmpp.connection.settings": "Connection=ConnectionSettings"},
    "mcp.client": {
        "mcp.server_configs": (
            "HttpServer=HttpEndpoint McpServer=McpServerSettings StdioServer=StdioEndpoint"
        )
    },
    "messaging": {"messaging.answer_log": "SqliteAnswerLog=PersistentAnswerLog"},
    "memory": {"memory.database.store": "SqliteMemoryStore=SQLiteMemoryStore"},
}
"""Renamed public names of packages that still exist."""

OLD_SUBMODULES = {
    "agent": "chat_agent coordinator_agent llm_agent retrieval_agent",
    "behaviour": "human_interaction llm_behaviour retrieval_behaviour",
    "context": "_types context_manager management",
    "guardrails": "base implementations processor types",
    "mcp": "config factory",
    "providers": "base_provider llm_provider",
    "rag": "core document_loaders retrievers text_splitters vector_stores",
    "routing": "decorators types",
    "tools": "human_in_the_loop langchain_adapter retrieval_tool",
    "utils": "conversation_utils env_loader retrieval_utils",
}
"""Submodules of spade_llm 0.2/0.3, by package: each answers with the names of its package."""

RENAMED_IN_SUBMODULE = {"providers.base_provider": {"LLMProvider": "BaseLLMProvider"}}
"""Names with another meaning than in the package: in 0.2 the base class of all providers was
`base_provider.LLMProvider`."""


def find_old_name(package: str, name: str) -> object:
    """Return the object that an old public name of a package stands for. Raises AttributeError."""
    place = _PLACES.get(_below_root(package), {}).get(name)
    if place is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, attribute = place
    return getattr(import_module(f"{ROOT}.{module}"), attribute)


def _below_root(module: str) -> str:
    return module.removeprefix(ROOT).removeprefix(".")


def _places(names_by_module: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    places = {}
    for module, names in names_by_module.items():
        for word in names.split():
            old, _, new = word.partition("=")
            places[old] = (module, new or old)
    return places


_PLACES = {package: _places(names) for package, names in {**MOVED_PACKAGES, **RENAMED}.items()}
_SUBMODULES = {
    f"{package}.{name}": package
    for package, names in OLD_SUBMODULES.items()
    for name in names.split()
}


class OldPaths:
    """Module finder and loader for old paths; last in `sys.meta_path`, so that files win.

    Not derived from importlib.abc: importing its classes takes four times as long as `spade_llm`.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        old = _below_root(fullname)
        if not fullname.startswith(f"{ROOT}.") or old not in {*MOVED_PACKAGES, *_SUBMODULES}:
            return None
        return ModuleSpec(fullname, cast("Loader", self), is_package=old in MOVED_PACKAGES)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = _below_root(module.__name__)
        find, names = _of_submodule(old) if old in _SUBMODULES else _of_package(module.__name__)
        module.__dict__["__getattr__"] = find
        module.__dict__["__dir__"] = lambda: sorted({*vars(module), *names})
        module.__dict__["__all__"] = names


def _of_submodule(old: str) -> tuple[Callable[[str], object], list[str]]:
    package = import_module(f"{ROOT}.{_SUBMODULES[old]}")
    renamed = RENAMED_IN_SUBMODULE.get(old, {})
    return lambda name: getattr(package, renamed.get(name, name)), getattr(package, "__all__", [])


def _of_package(package: str) -> tuple[Callable[[str], object], list[str]]:
    names = sorted(_PLACES[_below_root(package)], key=lambda name: (not name.isupper(), name))
    return lambda name: find_old_name(package, name), names
