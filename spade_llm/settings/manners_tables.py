"""`[manners]` of an agent.toml: how an assistant writes to people's clients. Reads no file."""

from __future__ import annotations

from pydantic import Field

from spade_llm.settings.table import Table


class MannersTable(Table):
    """`[manners]`: what people's chat clients see of an answer."""

    styling: bool = True
    """Markdown becomes Message Styling (XEP-0393)."""
    streaming: bool = True
    """Answers grow, in clients that show corrections (XEP-0308)."""
    first_s: float = Field(default=1.0, ge=0, le=60)
    """What is there sooner comes as a whole."""
    edit_every_s: float = Field(default=2.5, ge=1, le=60)
    """Between two edits of an answer that grows."""
