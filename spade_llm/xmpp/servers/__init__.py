"""XMPP servers started by this package: a private Prosody and an embedded server."""
