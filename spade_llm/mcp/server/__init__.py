"""MCP server: memories, documents, agents and tools of the network for MCP clients."""
