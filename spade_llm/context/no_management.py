"""NoContextManagement: every message reaches the model."""

from __future__ import annotations

import sys

from spade_llm.context.composable import Composable, Limits


class NoContextManagement(Composable):
    """For short conversations; a long one outgrows the model's context window."""

    name = "none"
    reads_notes = False

    def limits(self) -> Limits:
        return Limits(max_messages=sys.maxsize)
