"""What a person configures: an agent.toml per agent, and a few environment variables."""

from spade_llm.settings.admission_tables import AdmissionTable
from spade_llm.settings.env_file import (
    load_env_vars,
)
from spade_llm.settings.environment import (
    Environment,
    found_variable,
    read_environment,
    variable,
)
from spade_llm.settings.files_tables import FilesTable
from spade_llm.settings.guardrail_tables import GuardrailTable
from spade_llm.settings.http_tables import HttpTable
from spade_llm.settings.identity_tables import IdentityTable
from spade_llm.settings.manners_tables import MannersTable
from spade_llm.settings.model_tables import FallbackTable, ProviderTable
from spade_llm.settings.room_tables import RoomTable
from spade_llm.settings.tables import (
    AgentSettings,
    ContextTable,
    DocumentsTable,
    EmbeddingsTable,
    EndingTable,
    LearningTable,
    LimitsTable,
    MemoryTable,
    NetworkTable,
    PeerLimitsTable,
    ServerTable,
    ServicesTable,
    StorageTable,
    TelemetryTable,
    UploadTable,
    load_agent,
    read_password,
    read_prompt,
)
from spade_llm.settings.tool_tables import (
    MAX_HUMAN_SECONDS_OF_TOOLS,
    HumanTable,
    McpTable,
    PythonTable,
    TermsTable,
)

__all__ = [
    "MAX_HUMAN_SECONDS_OF_TOOLS",
    "AdmissionTable",
    "AgentSettings",
    "ContextTable",
    "DocumentsTable",
    "EmbeddingsTable",
    "EndingTable",
    "Environment",
    "FallbackTable",
    "FilesTable",
    "GuardrailTable",
    "HttpTable",
    "HumanTable",
    "IdentityTable",
    "LearningTable",
    "LimitsTable",
    "MannersTable",
    "McpTable",
    "MemoryTable",
    "NetworkTable",
    "PeerLimitsTable",
    "ProviderTable",
    "PythonTable",
    "RoomTable",
    "ServerTable",
    "ServicesTable",
    "StorageTable",
    "TelemetryTable",
    "TermsTable",
    "UploadTable",
    "found_variable",
    "load_agent",
    "load_env_vars",
    "read_environment",
    "read_password",
    "read_prompt",
    "variable",
]
