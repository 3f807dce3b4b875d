"""A memory where people already work: MCP clients, DSPy, LangGraph and other frameworks. Each module is an extra."""
