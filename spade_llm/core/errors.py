"""Exceptions of the package, their wire error codes and the FIPA performative of each family.

SpadeLLMError                        root; `code` is the error code on the wire
├─ ConfigurationError                wrong settings; raised at start, never at run time
│   ├─ AuthenticationRejected        the server does not accept this JID and password
│   │   └─ RegistrationThrottled     the account is missing; the server asks to register it later
│   ├─ ServerUnreachable             no server answers at this host and port
│   ├─ PortInUse                     another program listens on the port of our server
│   └─ CertificateRejected           TLS could not be verified
├─ ProtocolError                     -> not-understood
│   ├─ MalformedContent              content violates its ontology
│   └─ UnknownOntology
├─ RequestError                      raised on the requesting side; .peer .conversation_id .code
│   ├─ RequestRefused                <- refuse (nothing changed; safe to ask again)
│   ├─ RequestFailed                 <- failure
│   ├─ RequestNotUnderstood          <- not-understood
│   ├─ PeerUnavailable               <- XMPP error stanza (.wire_code is its condition)
│   └─ RequestTimeout(TimeoutError)  no terminal answer before the deadline
├─ ServiceError                      raised by a handler; its message is written for the peer
│   ├─ Refusal                       -> refuse
│   │   ├─ InvalidArguments, ApprovalRequired, Busy, QuotaExceeded, NotFound, UnknownTool,
│   │   │  NotConfigured, DeadlinePassed, ConversationEnded, Unauthorised
│   │   │   ├─ HostNotAllowed (of Unauthorised)
│   │   │   └─ PathNotFound (of InvalidArguments)
│   └─ Failure                       -> failure
│       ├─ ToolFailed, StorageFailed, Unavailable, Cancelled, Interrupted, InvalidAnswer, TooLarge
└─ ModelError                        -> failure
    ├─ ModelUnavailable              a retry may succeed
    ├─ RateLimited                   a retry may succeed after .retry_after seconds
    ├─ ModelDenied                   wrong key, quota or model name: needs an operator
    ├─ ContextTooLong
    └─ InvalidModelOutput
        └─ EmptyModelOutput          a retry may succeed
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from spade_llm.core.text import describe_seconds


class SpadeLLMError(Exception):
    """Root of every error this library raises."""

    code: ClassVar[str] = "internal"


class ConfigurationError(SpadeLLMError):
    """Settings are wrong; the message names the file and key, and the fix."""

    code = "configuration"


class AuthenticationRejected(ConfigurationError):
    """The server does not accept this JID and password."""

    code = "authentication-rejected"


class RegistrationThrottled(AuthenticationRejected):
    """The account is missing, and the server asks to wait before it registers another one."""

    code = "registration-paused"


class ServerUnreachable(ConfigurationError):
    """No XMPP server answers at this host and port within the deadline."""

    code = "server-unreachable"


class PortInUse(ConfigurationError):
    """Another program listens on the port of our server."""

    code = "port-taken"


class CertificateRejected(ConfigurationError):
    """The server's certificate does not verify against the trusted CAs, or names another host."""

    code = "certificate-rejected"


class ProtocolError(SpadeLLMError):
    """The message violates the protocol."""

    code = "not-understood"


class MalformedContent(ProtocolError):
    """The content violates its ontology."""

    code = "malformed"


class UnknownOntology(ProtocolError):
    """No handler is registered for this ontology, or for this version of it."""

    code = "unknown-ontology"


class RequestError(SpadeLLMError):
    """A request to another agent did not end in `inform`."""

    code = "request-failed"

    def __init__(
        self,
        detail: str,
        *,
        peer: str,
        conversation_id: str = "",
        wire_code: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.peer = peer
        self.conversation_id = conversation_id
        self.wire_code = wire_code or type(self).code
        """The peer's own reason, for instance `busy`."""
        self.retry_after_s = retry_after_s
        """Seconds until the peer expects to be able to answer; None: unknown."""


class RequestRefused(RequestError):
    """The peer declined before doing anything; asking again later is safe."""

    code = "refused"


class RequestFailed(RequestError):
    """The peer started and did not finish; side effects are possible."""

    code = "failed"


class RequestNotUnderstood(RequestError):
    """The peer does not speak this ontology or could not read the content."""

    code = "not-understood"


class PeerUnavailable(RequestError):
    """The server returned the request; `wire_code` is the error condition (RFC 6120 §8.3.3)."""

    code = "peer-unavailable"


class RequestTimeout(RequestError, TimeoutError):
    """No terminal answer before the deadline."""

    code = "timeout"


class ServiceError(SpadeLLMError):
    """Raised by a handler. Its message is sent to the peer: one sentence, no internals."""


class Refusal(ServiceError):
    """The request was not started and nothing changed."""

    code = "refused"


class InvalidArguments(Refusal):
    """A field is missing or wrong; the message names the field and the fix."""

    code = "invalid-arguments"


class PathNotFound(InvalidArguments):
    """No accessible file or folder has this name; inaccessible ones are not disclosed."""

    code = "no-such-path"


class Unauthorised(Refusal):
    """The sender, as stamped by the server, has no permission."""

    code = "unauthorised"


class HostNotAllowed(Unauthorised):
    """Files are not fetched from this host."""

    code = "foreign-host"


class ApprovalRequired(Refusal):
    """A person must approve this call; then repeat it with `approved_by`."""

    code = "approval-needed"


class Busy(Refusal):
    """A queue is full; ask again later."""

    code = "busy"


class QuotaExceeded(Refusal):
    """The quota of this peer is used up; the message says when it is renewed."""

    code = "quota-reached"


class NotFound(Refusal):
    """Nothing with this id is visible to the sender."""

    code = "not-found"


class UnknownTool(Refusal):
    """No tool of this name is offered."""

    code = "unknown-tool"


class NotConfigured(Refusal):
    """The agent is not configured for this request."""

    code = "not-offered"


class DeadlinePassed(Refusal):
    """The deadline (`reply-by`) had passed before the request could be started."""

    code = "deadline-passed"


class ConversationEnded(Refusal):
    """The conversation has ended; it accepts no message until it is started anew."""

    code = "conversation-over"


class Failure(ServiceError):
    """The request was started and did not finish; side effects are possible."""

    code = "failed"


class ToolFailed(Failure):
    """The tool's own function failed."""

    code = "tool-failed"


class StorageFailed(Failure):
    """The disk or the database failed."""

    code = "storage-failed"


class Unavailable(Failure):
    """Another agent that the request needs is unavailable; a later attempt may succeed."""

    code = "unavailable"


class Cancelled(Failure):
    """The asker or an operator stopped the request."""

    code = "cancelled"


class Interrupted(Failure):
    """The process died while the request ran, and it must not run twice."""

    code = "interrupted"


class InvalidAnswer(Failure):
    """The model's answer does not have the required form, after a second attempt either."""

    code = "invalid-answer"


class TooLarge(Failure):
    """A file exceeds the maximum size."""

    code = "too-large"


class ModelFailure(StrEnum):
    """Cause of a model's failure, by the remedy; for operators and programs of theirs."""

    UNKNOWN_HOST = "unknown-host"
    CONNECTION_REFUSED = "connection-refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    WRONG_KEY = "wrong-key"
    UNKNOWN_MODEL = "unknown-model"
    RATE_LIMIT = "rate-limit"
    QUOTA = "quota"
    INCOMPATIBLE = "incompatible"
    """The server does not speak the OpenAI protocol at this address."""
    SERVER_ERROR = "server-error"
    OTHER = "other"


class ModelError(SpadeLLMError):
    """The model did not answer; details belong in the log, not in the chat."""

    code = "model-failed"
    told: ClassVar[str] = "the language model does not answer at the moment"
    """Public explanation for the caller, without details."""
    cause: ModelFailure = ModelFailure.OTHER
    is_for_operator: bool = False
    """True: the caller runs the agent, and is given the details."""

    def __init__(self, detail: str = "", *, cause: ModelFailure = ModelFailure.OTHER) -> None:
        super().__init__(detail)
        self.cause = cause

    @property
    def public_detail(self) -> str:
        """Explanation that is sent to the caller."""
        return str(self) if self.is_for_operator else self.told


class ModelUnavailable(ModelError):
    """The model's server is unavailable or failing; a retry may succeed."""

    code = "model-unavailable"


class RateLimited(ModelError):
    """The model's server asks for a pause of `retry_after` seconds (None: it did not say)."""

    code = "rate-limited"
    told = "too many requests to the language model; try again in a minute"

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail, cause=ModelFailure.RATE_LIMIT)
        self.retry_after = retry_after

    @property
    def public_detail(self) -> str:
        if self.retry_after is None or self.is_for_operator:
            return super().public_detail
        wait = describe_seconds(self.retry_after)
        return f"too many requests to the language model; try again in {wait}"


class ModelDenied(ModelError):
    """The server denies access to the model: the key, quota or name is wrong."""

    code = "model-denied"
    told = "access to the language model was denied; the operator must check the settings"


class ContextTooLong(ModelError):
    """The prompt does not fit into the model's context window."""

    code = "context-too-long"
    told = "this does not fit into the language model's context window; send less"


class InvalidModelOutput(ModelError):
    """The model's answer does not have the required form."""

    code = "invalid-model-output"
    told = "the language model gave an invalid answer; try again"


class EmptyModelOutput(InvalidModelOutput):
    """The answer has neither text nor a tool call; models do that occasionally."""

    code = "empty-model-output"
