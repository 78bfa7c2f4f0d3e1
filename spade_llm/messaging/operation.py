"""Operations derived from Protocol methods: request, response, client method and handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import create_model

from spade_llm.messaging.answer_log import fingerprint
from spade_llm.messaging.body import Body, Empty, truncated_to_message
from spade_llm.messaging.message import Encoding
from spade_llm.messaging.request import Idempotency, Request

if TYPE_CHECKING:
    from spade_llm.messaging.rpc import RpcClient

P = ParamSpec("P")
R = TypeVar("R")

_KEY = "key"


class Operation(Generic[P, R]):
    """An operation of an ontology: a method of a Protocol, called on another agent.

    It is an attribute of a client class. The attribute's name, without a leading underscore, is
    the `op` of the request and the method that the service calls. The method's parameters are the
    fields of the request, except `key`: it is the request's id.

    `field` is the field of the response that has the result. A sequence is truncated to one
    message. Without a field, the method returns the response itself, or None (`Empty`).
    `in_list`: the field is a list, with the result as its only item. `timeout_s`: of a call; None:
    the client's. `max_time_s`: of the handler; None: the dispatcher's limit.
    """

    def __init__(
        self,
        method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
        effect: Idempotency = Idempotency.READ,
        field: str = "",
        *,
        in_list: bool = False,
        timeout_s: float | None = None,
        max_time_s: float | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self.max_time_s = max_time_s
        self.effect = effect
        self._method = method
        self._field = field
        self._in_list = in_list

    def __set_name__(self, owner: type[RpcClient], name: str) -> None:
        self.op = name.removeprefix("_")
        self._owner = owner

    @overload
    def __get__(self, client: None, owner: type[RpcClient]) -> Self: ...

    @overload
    def __get__(
        self, client: RpcClient, owner: type[RpcClient]
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def __get__(
        self, client: RpcClient | None, owner: type[RpcClient]
    ) -> Self | Callable[P, Coroutine[Any, Any, R]]:
        return self if client is None else partial(self._call, client)

    def body(self, *args: P.args, **kwargs: P.kwargs) -> Body:
        """The request of a call with these arguments."""
        return self._request_and_key(*args, **kwargs)[0]

    async def serve(
        self,
        target_of: Callable[[Request], object],
        request: Request,
        values: Mapping[str, object],
    ) -> Body:
        """Call the method of a request on its target; returns the response.

        Raises:
            InvalidArguments: a field is missing or wrong.
        """
        body = self.request.read(values)
        arguments = {name: getattr(body, name) for name in self.request.model_fields}
        if _KEY in self._parameters:
            message = request.message
            arguments[_KEY] = message.reply_with
            # SPADE 4.1.4 takes Python's `id(self)`, which it uses again for other requests.
            if message.encoding is Encoding.FORM:
                arguments[_KEY] += f" {fingerprint(message)}"
        return self._respond(await getattr(target_of(request), self.op)(**arguments))

    # The models are built when they are first used: building them all would slow down startup.

    @cached_property
    def request(self) -> type[Body]:
        """Type of the request, derived from the parameters."""
        fields = {
            name: (
                _wire_type(self._hints[name]),
                ... if parameter.default is parameter.empty else parameter.default,
            )
            for name, parameter in self._parameters.items()
            if name != _KEY
        }
        model = _model(f"{_camel_case(self.op)}Request", self._owner, fields)
        model.op = self.op
        return model

    @cached_property
    def response(self) -> type[Body]:
        """Type of the response, derived from the return type."""
        returned = self._hints["return"]
        if returned is NoneType:
            return Empty
        if not self._field:
            return cast("type[Body]", returned)
        wire_type = _tuple_of(returned) if self._in_list else _wire_type(returned)
        return _response(self._owner, self._field, wire_type)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._method)

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        _self, *parameters = self._signature.parameters.values()
        return {parameter.name: parameter for parameter in parameters}

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self._method, include_extras=True)

    @cached_property
    def _sequences(self) -> frozenset[str]:
        """Parameters that any sequence is accepted for; pydantic wants a tuple."""
        return frozenset(name for name, hint in self._hints.items() if _wire_type(hint) != hint)

    def _request_and_key(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Body, str | None]:
        _self, *names = self._signature.bind(None, *args, **kwargs).arguments.items()
        values = dict(names)
        key = values.pop(_KEY, None)
        for name in self._sequences & values.keys():
            if values[name] is not None:
                values[name] = tuple(values[name])
        return self.request.model_validate(values), key

    async def _call(self, client: RpcClient, *args: P.args, **kwargs: P.kwargs) -> R:
        body, key = self._request_and_key(*args, **kwargs)
        answer = await client.ask(body, self.response, id=key, timeout_s=self._timeout_s)
        return self._result(answer)

    def _result(self, response: Body) -> R:
        if not self._field:
            return cast("R", None if self.response is Empty else response)
        result = getattr(response, self._field)
        return cast("R", result[0] if self._in_list else result)

    def _respond(self, result: object) -> Body:
        if not self._field:
            return Empty() if self.response is Empty else cast("Body", result)
        if self._in_list:
            return self._wrapped((result,))
        if get_origin(self._hints["return"]) is Sequence:
            return truncated_to_message(
                cast("Sequence[object]", result), lambda some: self._wrapped(tuple(some))
            )
        return self._wrapped(result)

    def _wrapped(self, result: object) -> Body:
        return self.response.model_validate({self._field: result})


def operations(client: type[RpcClient]) -> Iterator[Operation[..., object]]:
    """Operations of a client class."""
    return (value for value in vars(client).values() if isinstance(value, Operation))


_RESPONSES: dict[tuple[type, str, object], type[Body]] = {}
"""By client class, field and type of the result."""


def _response(owner: type[RpcClient], field: str, wire_type: object) -> type[Body]:
    """Operations with equal results share the type of their responses."""
    key = (owner, field, wire_type)
    if key not in _RESPONSES:
        _RESPONSES[key] = _model(f"{_camel_case(field)}Response", owner, {field: (wire_type, ...)})
    return _RESPONSES[key]


def _model(
    name: str, owner: type[RpcClient], fields: Mapping[str, tuple[object, object]]
) -> type[Body]:
    definitions: Any = fields  # Names of fields are keyword arguments there.
    return create_model(name, __base__=owner.body_base, __module__=owner.__module__, **definitions)


def _wire_type(hint: Any) -> Any:
    """The type of a field: a tuple for a sequence, since a body is immutable."""
    if get_origin(hint) is Sequence:
        return _tuple_of(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(_wire_type, get_args(hint)))
    return hint


def _tuple_of(item: object) -> object:
    return GenericAlias(tuple, (item, ...))


def _camel_case(name: str) -> str:
    return name.title().replace("_", "")
