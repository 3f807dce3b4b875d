"""Contract suites: one a protocol, passed by every implementation."""
