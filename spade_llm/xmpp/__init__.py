"""XMPP: the agent, its connection, stanzas, features and servers (the only user of SPADE)."""
