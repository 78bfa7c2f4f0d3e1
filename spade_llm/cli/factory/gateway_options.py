"""Options of a gateway from [http] and [network] of agent.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.cli.health import HttpRecord
from spade_llm.gateway.network import AgentAddresses
from spade_llm.gateway.options import HttpOptions

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.cli.sockets import Listener


def build_http_options(spec: DeploymentSpec, listener: Listener) -> HttpOptions:
    table = spec.settings.http
    return HttpOptions(
        host=listener.host,
        port=listener.port,
        local_principal=spec.resolve_jid(table.local_principal) if table.local_principal else None,
        language=table.language,
        hosts=tuple(table.hosts),
        cors_origins=tuple(table.cors_origins),
        requests_per_minute=table.requests_per_minute,
        max_body_bytes=table.max_body_kb * 1024,
        max_upload_bytes=table.max_upload_mb * 1024 * 1024,
        max_streams=table.max_streams,
        console=table.console,
    )


def build_agent_addresses(spec: DeploymentSpec) -> AgentAddresses:
    table = spec.settings.network
    return AgentAddresses(
        assistants=tuple(map(spec.resolve_jid, table.assistants)),
        memory=spec.resolve_jid(table.memory) if table.memory else None,
        rag=spec.resolve_jid(table.rag) if table.rag else None,
        tools=tuple(map(spec.resolve_jid, table.tools)),
    )


def build_http_record(http: HttpOptions, listener: Listener) -> HttpRecord:
    return HttpRecord(
        url=listener.url,
        is_open=not http.is_loopback,
        local_principal=http.local_principal if http.is_loopback else None,
    )
