"""The server of a memory, and the client of one."""
