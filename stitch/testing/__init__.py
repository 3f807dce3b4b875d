"""Public doubles and contract suites, for whoever implements a protocol of the library."""
