"""XMPP connection: settings, reconnect, stream management, JIDs, probes."""
