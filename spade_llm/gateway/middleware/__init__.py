"""ASGI middleware of the gateway, outermost first: context, auth, body, idempotency."""
