"""Our network as an MCP server: memories, documents and agents as tools of any MCP client.

Knows the services' clients, no XMPP and no command line. Only the command that serves imports it:
the `mcp` library comes with it.
"""
