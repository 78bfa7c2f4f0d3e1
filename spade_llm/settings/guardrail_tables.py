"""`[[guardrails]]` of an agent.toml: what is judged, by what, and what follows. Reads no file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from spade_llm.settings.model_tables import ProviderTable  # noqa: TC001  # pydantic reads it
from spade_llm.settings.table import Name, Seconds, Table


class GuardrailTable(Table):
    """`[[guardrails]]`: what may not be said to an assistant, or by it. In the file's order."""

    kind: Literal["keyword", "regex", "model"]
    on: Literal["input", "output", "both"] = "both"
    name: Name | None = None
    """In the log. Without it: its number in the file, from 0."""
    action: Literal["block", "modify", "warning"] = "block"
    message: Name | None = None
    """For whoever asked, if it is blocked. Without it: a sentence in English or Spanish."""
    keywords: list[Name] = []
    case_sensitive: bool = False
    patterns: list[Name] = []
    """As Python's `re` reads them."""
    replacement: str = "[REDACTED]"
    early_parts: bool = False
    """What stands before a match that blocks may have gone out in parts of the answer."""
    rules: Name | None = None
    """What is and what is not safe, in words for the model."""
    provider: ProviderTable | None = None
    """The model that judges. Without it: the assistant's own."""
    timeout_s: Seconds = Field(default=20.0)
    """For one verdict; after it, the text is blocked."""

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> GuardrailTable:
        own = _KEYS_OF_GUARDRAIL[self.kind]
        if idle := sorted(self.model_fields_set - own - {"kind", "on", "name", "message"}):
            raise ValueError(f'kind = "{self.kind}" takes no {", ".join(idle)}')
        needed = {"keyword": "keywords", "regex": "patterns"}.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(f'kind = "{self.kind}" needs the key {needed}')
        return self

    @model_validator(mode="after")
    def _is_of_its_action(self) -> GuardrailTable:
        for key, action in _ACTION_OF_KEY.items():
            if key in self.model_fields_set and self.action != action:
                raise ValueError(f'{key} goes with action = "{action}" only')
        if self.early_parts and self.on == "input":
            raise ValueError('early_parts is of answers: it does not go with on = "input"')
        return self


_ACTION_OF_KEY = {"message": "block", "early_parts": "block", "replacement": "modify"}
_KEYS_OF_GUARDRAIL = {
    "keyword": {"keywords", "case_sensitive", "action", "replacement", "early_parts"},
    "regex": {"patterns", "action", "replacement", "early_parts"},
    "model": {"rules", "provider", "timeout_s"},
}
