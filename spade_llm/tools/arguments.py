"""Argument validation against a JSON Schema, with bounded work and no remote references.

The schema may come from another program. A reference to a file or to the network is not followed,
and a schema that cannot be applied fails the call, not the agent.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError, InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

    _Keyword = Callable[..., Iterator[ValidationError]]

MAX_FAULTS = 5
"""Maximum number of faults named for one call."""
MAX_FAULT_CHARS = 200
MAX_STEPS = 50_000
"""Keywords of a foreign schema that are applied in one check: about a second."""


class ArgumentValidator:
    """Argument validator of one tool; the schema is compiled at the first call."""

    def __init__(
        self,
        name: str,
        schema: Mapping[str, object],
        *,
        is_foreign: bool = False,
        of: str = "parameters of tool",
    ) -> None:
        """`is_foreign`: the schema's regular expressions are not run, and at most MAX_STEPS
        keywords are applied. A hostile schema could block the process for hours, and the tool
        validates its arguments itself anyway. `of`: description of the schema in error messages."""
        self._subject = f"{of} {name!r}"
        self._schema = schema
        self._is_foreign = is_foreign
        self._steps_left = MAX_STEPS

    def check_schema(self) -> None:
        """Raises ConfigurationError unless it is a schema of an object."""
        from jsonschema.exceptions import SchemaError

        if self._schema.get("type") != "object":
            raise ConfigurationError(f"{self._subject} must be a schema of type 'object'")
        try:
            type(self._validator).check_schema(dict(self._schema))
        except (SchemaError, RecursionError) as error:
            reason = getattr(error, "message", "nested too deeply")
            raise ConfigurationError(f"{self._subject} are not a JSON Schema: {reason}") from error

    def check(self, arguments: Mapping[str, object]) -> None:
        """Raises InvalidArguments, written for the model: what is wrong where."""
        from referencing.exceptions import Unresolvable

        self._steps_left = MAX_STEPS
        try:
            faults = sorted(self._validator.iter_errors(dict(arguments)), key=_json_path)
        except Unresolvable as error:
            raise InvalidArguments(f"the tool's schema points nowhere: {error.ref!r}") from error
        except RecursionError as error:
            raise InvalidArguments("the tool's schema, or the arguments, have no end") from error
        except _TooManySteps as error:
            raise InvalidArguments("the schema is too laborious to apply") from error
        # `multipleOf` divides by what the schema says.
        except ArithmeticError as error:
            raise InvalidArguments("a number is out of range") from error
        if faults:
            raise InvalidArguments("; ".join(map(_described, faults[:MAX_FAULTS])))

    def _with_step_limit(self, keyword: _Keyword) -> _Keyword:
        def apply(*of: object) -> Iterator[ValidationError]:
            self._steps_left -= 1
            if self._steps_left < 0:
                raise _TooManySteps
            return keyword(*of) or _unchecked()

        return apply

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend, validator_for
        from referencing.jsonschema import EMPTY_REGISTRY

        kind = validator_for(self._schema, default=Draft202012Validator)
        if self._is_foreign:
            # Replaced before they are counted, so that the replacements count too.
            kind = extend(kind, _regex_free_keywords(kind))
            counted = {name: self._with_step_limit(one) for name, one in kind.VALIDATORS.items()}
            kind = extend(kind, counted)
        # Without a registry of its own, jsonschema 4.25 fetches what a `$ref` names.
        return kind(dict(self._schema), registry=EMPTY_REGISTRY, format_checker=kind.FORMAT_CHECKER)


class _TooManySteps(Exception):
    """A schema of a few lines may branch without end."""


def _regex_free_keywords(kind: type[Validator]) -> dict[str, _Keyword]:
    """The keywords that run a schema's regular expressions, made to run none."""
    additional = kind.VALIDATORS.get("additionalProperties")

    def additional_properties(
        validator: Validator, value: object, instance: object, schema: Mapping[str, object]
    ) -> Iterator[ValidationError]:
        # Which properties are additional depends on patterns that are not run.
        if additional is None or "patternProperties" in schema:
            return _unchecked()
        return additional(validator, value, instance, schema) or _unchecked()

    return {
        "pattern": _unchecked,
        "patternProperties": _unchecked,
        "additionalProperties": additional_properties,
    }


def _unchecked(*_: object) -> Iterator[ValidationError]:
    return iter(())


def _json_path(fault: ValidationError) -> str:
    return str(fault.json_path)


def _described(fault: ValidationError) -> str:
    return f"{fault.json_path}: {fault.message[:MAX_FAULT_CHARS]}"
