"""A memory that another process has open: the socket on which its owner answers, and the memory that asks there."""
