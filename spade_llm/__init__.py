"""A network of LLM agents on XMPP."""
