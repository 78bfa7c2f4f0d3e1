"""Schemas of tools: names, descriptions, parameters, usage examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.gateway.schemas.common import HttpBody

if TYPE_CHECKING:
    from spade_llm.providers.model import ToolSpec


class ToolLine(HttpBody):
    name: str
    description: str
    input_schema: dict[str, object] = Field(description="JSON Schema of the arguments.")
    needs_approval: bool = Field(default=False, description="A person is asked before each call.")

    @classmethod
    def of(cls, spec: ToolSpec) -> ToolLine:
        return cls(
            name=spec.name,
            description=spec.description,
            input_schema=dict(spec.parameters),
            needs_approval=spec.needs_approval,
        )


class ToolList(HttpBody):
    tools: list[ToolLine]
    count: int
    degraded: list[str] = Field(default=[], description="Agents whose tools are not known now.")


class ToolNames(HttpBody):
    tool_names: list[str]
    count: int
    degraded: list[str] = Field(default=[], description="Agents whose tools are not known now.")


class ToolUsageExample(HttpBody):
    input: dict[str, object]
    output: str


class ToolInformation(ToolLine):
    examples: list[ToolUsageExample] = Field(default=[], description="As far as the tool has some.")

    @classmethod
    def of(cls, spec: ToolSpec) -> ToolInformation:
        examples = [
            ToolUsageExample(input=dict(one.input), output=one.output) for one in spec.examples
        ]
        return cls(**ToolLine.of(spec).model_dump(), examples=examples)
