"""XMPP features of an agent: rooms, archive, uploads, profile, presence, ad-hoc commands."""
