"""Embedded XMPP server: pyjabber's streams with a router and a store of our own."""
