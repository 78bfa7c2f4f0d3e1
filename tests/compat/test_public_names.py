"""Every name of spade_llm 0.3 is there under its import path, and importing a path stays light."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from spade_llm import old_names
from tests.cli.program import ROOT

HEAVY = ("spade", "slixmpp", "chromadb", "openai", "onnxruntime", "mcp", "numpy")
NAMES = {
    "spade_llm": """
        LLMBehaviour HumanInteractionBehaviour RetrievalBehaviour ContextManager LLMTool
        HumanInTheLoopTool LLMAgent ChatAgent CoordinatorAgent LLMProvider load_env_vars
        RoutingFunction RoutingResponse AgentInteractionMemory AgentMemoryTool Guardrail
        GuardrailAction GuardrailResult InputGuardrail OutputGuardrail CompositeGuardrail
        KeywordGuardrail LLMGuardrail RegexGuardrail CustomFunctionGuardrail rag RetrievalAgent
        RetrievalTool LangChainToolAdapter ReadyForStructuredOutputTool __version__
    """,
    "spade_llm.agent": "LLMAgent ChatAgent run_interactive_chat CoordinatorAgent RetrievalAgent",
    "spade_llm.behaviour": "LLMBehaviour HumanInteractionBehaviour RetrievalBehaviour",
    "spade_llm.context": """
        ContextManager ContextManagement NoContextManagement WindowSizeContext
        SmartWindowSizeContext ContextMessage SystemMessage UserMessage AssistantMessage
        ToolResultMessage ToolCall ToolCallFunction create_system_message create_user_message
        spade_message_to_user_message create_assistant_message create_assistant_tool_call_message
        create_tool_result_message
    """,
    "spade_llm.guardrails": """
        Guardrail GuardrailAction GuardrailResult InputGuardrail OutputGuardrail
        CompositeGuardrail KeywordGuardrail LLMGuardrail RegexGuardrail CustomFunctionGuardrail
        apply_input_guardrails apply_output_guardrails
    """,
    "spade_llm.mcp": """
        MCPServerConfig SseServerConfig StdioServerConfig StreamableHttpServerConfig
        MCPToolAdapter get_all_mcp_tools get_mcp_server_tools get_mcp_tool MCPSession
    """,
    "spade_llm.memory": """
        AgentInteractionMemory AgentMemoryTool AgentBaseMemory create_base_memory_tools
    """,
    "spade_llm.memory.backends": "MemoryBackend MemoryEntry SQLiteMemoryBackend",
    "spade_llm.providers": "BaseLLMProvider LLMProvider",
    "spade_llm.rag": """
        Document BaseDocumentLoader TextLoader DirectoryLoader TextSplitter CharacterTextSplitter
        RecursiveCharacterTextSplitter VectorStore BaseRetriever VectorStoreRetriever Chroma
    """,
    "spade_llm.routing": "RoutingResponse RoutingFunction routing_rule",
    "spade_llm.structured_output": "ReadyForStructuredOutputTool",
    "spade_llm.tools": "LLMTool LangChainToolAdapter HumanInTheLoopTool RetrievalTool",
    "spade_llm.utils": """
        load_env_vars format_documents_for_response create_retrieval_response_body
        generate_conversation_id generate_unique_id
    """,
    "spade_llm.agent.llm_agent": "LLMAgent",
    "spade_llm.agent.chat_agent": "ChatAgent run_interactive_chat",
    "spade_llm.agent.coordinator_agent": "CoordinatorAgent",
    "spade_llm.agent.retrieval_agent": "RetrievalAgent",
    "spade_llm.behaviour.human_interaction": "HumanInteractionBehaviour",
    "spade_llm.behaviour.retrieval_behaviour": "RetrievalBehaviour",
    "spade_llm.context._types": "UserMessage create_user_message",
    "spade_llm.context.context_manager": "ContextManager",
    "spade_llm.context.management": "ContextManagement SmartWindowSizeContext",
    "spade_llm.guardrails.base": "Guardrail GuardrailAction GuardrailResult",
    "spade_llm.providers.llm_provider": "LLMProvider",
    "spade_llm.rag.core": "Document",
    "spade_llm.rag.retrievers": "BaseRetriever VectorStoreRetriever",
    "spade_llm.routing.types": "RoutingResponse",
    "spade_llm.utils.env_loader": "load_env_vars",
}
"""What 0.3 exports, and the modules below its packages that its guides import from."""


@pytest.mark.parametrize("path", sorted(NAMES))
def test_every_name_is_there(path: str) -> None:
    module = import_module(path)

    assert [name for name in NAMES[path].split() if not hasattr(module, name)] == []


def test_importing_every_path_brings_no_heavy_library() -> None:
    code = (
        "import sys, json; from importlib import import_module\n"
        f"for path in {sorted(NAMES)!r}: import_module(path)\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment, timeout=60
    )

    assert json.loads(done.stdout) == []


def test_a_name_that_there_is_not_is_an_error() -> None:
    module = import_module("spade_llm.context._types")

    with pytest.raises(AttributeError, match="Nothing"):
        module.Nothing  # noqa: B018 - it raises


def test_every_moved_name_is_found_under_its_old_path() -> None:
    missing = [
        f"{package}.{old}"
        for package, modules in old_names.MOVED_PACKAGES.items()
        for names in modules.values()
        for old in (word.partition("=")[0] for word in names.split())
        if not hasattr(import_module(f"spade_llm.{package}"), old)
    ]

    assert missing == []


def test_no_file_hides_an_old_path() -> None:
    submodules = [
        f"{package}.{name}"
        for package, names in old_names.OLD_SUBMODULES.items()
        for name in names.split()
    ]
    paths = [ROOT / "spade_llm" / path.replace(".", "/") for path in submodules]
    moved = [ROOT / "spade_llm" / path.replace(".", "/") for path in old_names.MOVED_PACKAGES]

    assert [path for path in (*paths, *moved) if path.with_suffix(".py").exists()] == []
    assert [path for path in moved if (path / "__init__.py").exists()] == []
