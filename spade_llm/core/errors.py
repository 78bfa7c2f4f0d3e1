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

from typing import ClassVar


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
    """Another program listens on the port that a server of ours was to have."""

    code = "port-taken"


class CertificateRejected(ConfigurationError):
    """The server's certificate does not verify against the trusted CAs, or names another host."""

    code = "certificate-rejected"


class ProtocolError(SpadeLLMError):
    """The message cannot be read as what it claims to be."""

    code = "not-understood"


class MalformedContent(ProtocolError):
    """The content is not what its ontology promises."""

    code = "malformed"


class UnknownOntology(ProtocolError):
    """No handler speaks this ontology, or this version of it."""

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
    """No file or folder that may be read has this name; whether another one has, is not said."""

    code = "no-such-path"


class Unauthorised(Refusal):
    """The stamped sender may not do this."""

    code = "unauthorised"


class HostNotAllowed(Unauthorised):
    """Nothing is fetched from where this address points."""

    code = "foreign-host"


class ApprovalRequired(Refusal):
    """A person must say yes to this very call first; then ask again with `approved_by`."""

    code = "approval-needed"


class Busy(Refusal):
    """A queue is full; ask again later."""

    code = "busy"


class QuotaExceeded(Refusal):
    """This peer has spent its share; the message says when there is more."""

    code = "quota-reached"


class NotFound(Refusal):
    """Nothing with this id is visible to the sender."""

    code = "not-found"


class UnknownTool(Refusal):
    """No tool of this name is offered."""

    code = "unknown-tool"


class NotConfigured(Refusal):
    """This agent was not given what it needs for that; its settings would have to say it."""

    code = "not-offered"


class DeadlinePassed(Refusal):
    """`reply-by` was over before the request could be started."""

    code = "deadline-passed"


class ConversationEnded(Refusal):
    """It has ended, and takes nothing more until it is begun anew."""

    code = "conversation-over"


class Failure(ServiceError):
    """The request was started and did not finish; side effects are possible."""

    code = "failed"


class ToolFailed(Failure):
    """The tool's own function failed."""

    code = "tool-failed"


class StorageFailed(Failure):
    """The disk or the database refused."""

    code = "storage-failed"


class Unavailable(Failure):
    """Another agent that is needed for it cannot be asked now; later it may be."""

    code = "unavailable"


class Cancelled(Failure):
    """The asker, or an operator, stopped it."""

    code = "cancelled"


class Interrupted(Failure):
    """The process died while it ran, and it must not run twice."""

    code = "interrupted"


class InvalidAnswer(Failure):
    """The model's answer has not the form that was asked for, also when it was asked again."""

    code = "invalid-answer"


class TooLarge(Failure):
    """A file has more bytes than are taken."""

    code = "too-large"


class ModelError(SpadeLLMError):
    """The model did not answer; details belong in the log, not in the chat."""

    code = "model-failed"
    told: ClassVar[str] = "the language model is not answering now"
    """Public explanation for the caller, without details."""


class ModelUnavailable(ModelError):
    """The model's server is away or failing; trying again may help."""

    code = "model-unavailable"


class RateLimited(ModelError):
    """The model's server asks for a pause of `retry_after` seconds (None: it did not say)."""

    code = "rate-limited"
    told = "the language model is asked too much now; try again in a minute"

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class ModelDenied(ModelError):
    """The server does not let us use this model: its key, quota or name is not right."""

    code = "model-denied"
    told = "the language model is refused to this assistant: its operator has to check the settings"


class ContextTooLong(ModelError):
    """The prompt does not fit into the model's context window."""

    code = "context-too-long"
    told = "this does not fit into the language model's context window: send less"


class InvalidModelOutput(ModelError):
    """The model's answer is not in the form it was asked for."""

    code = "invalid-model-output"
    told = "the language model's answer cannot be used; try again"


class EmptyModelOutput(InvalidModelOutput):
    """There is neither text nor a tool call in it; models do that now and then."""

    code = "empty-model-output"
