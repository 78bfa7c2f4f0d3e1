"""A call's arguments without a model: read in its answer, or worked out from the question where
the tool's schema leaves no choice. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.providers.offline_wishes import Calculate, read_wish
from spade_llm.text.fence import unfenced
from spade_llm.tools.arguments import ArgumentCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import ToolSpec

EXPRESSIONS = frozenset({"expression", "formula", "equation"})
"""Names of arguments that are arithmetic."""
LOOKED_AT_CHARS = 4000
"""Of a question."""
_ARITHMETIC = re.compile(r"[-(\d][\d\s.+*/%()^-]*[\d)]")
_OPERATOR = re.compile(r"\d[\s)]*[+*/%^-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedOut:
    arguments: Mapping[str, object] = field(default_factory=dict)
    why_not: str = ""
    """Why these cannot be called with; empty: they can."""


def arguments_in(answer: str, spec: ToolSpec) -> Mapping[str, object] | None:
    """Those that a model wrote as its answer, which is nothing else; None: it wrote none that the
    tool takes."""
    try:
        arguments = json.loads(unfenced(answer))
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict) or _fault(spec, arguments):
        return None
    return arguments


def worked_out(question: str, spec: ToolSpec) -> WorkedOut:
    """What is required, and no more."""
    properties = spec.parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = spec.parameters.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    found = {name: value for name in names for value in _told(name, known.get(name), question)}
    missing = [name for name in names if name not in found]
    if len(missing) == 1 and _is_free_text(known.get(missing[0])):
        found[missing.pop()] = question
    return WorkedOut(arguments=found, why_not=_missing(missing) or _fault(spec, found))


def _told(name: str, schema: object, question: str) -> Sequence[object]:
    """The one value that it can only be; else nothing."""
    if not isinstance(schema, dict):
        return ()
    for key in ("const", "default"):
        if key in schema:
            return (schema[key],)
    if isinstance(values := schema.get("enum"), list):
        said = question.casefold()
        named = [one for one in values if str(one).casefold() in said]
        return values if len(values) == 1 else named if len(named) == 1 else ()
    if name in EXPRESSIONS and (expression := _expression(question)):
        return (expression,)
    return ()


def _expression(question: str) -> str:
    """Empty: there is none."""
    question = question[:LOOKED_AT_CHARS]
    wish = read_wish(question)
    if isinstance(wish, Calculate):
        return wish.expression
    found = (one.group().strip() for one in _ARITHMETIC.finditer(question))
    return max(filter(_OPERATOR.search, found), key=len, default="").replace("^", "**")


def _is_free_text(schema: object) -> bool:
    if not isinstance(schema, dict):
        return False
    is_bound = {"enum", "format", "pattern"} & set(schema)
    return schema.get("type") == "string" and not is_bound


def _missing(names: Sequence[str]) -> str:
    if not names:
        return ""
    listed = ", ".join(map(repr, names))
    return f"the model gave no arguments, and the question does not tell {listed}"


def _fault(spec: ToolSpec, arguments: Mapping[str, object]) -> str:
    try:
        ArgumentCheck(spec.name, spec.parameters, is_foreign=True).check(arguments)
    except InvalidArguments as error:
        return str(error)
    return ""
