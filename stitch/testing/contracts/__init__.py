"""Contract suites: what every implementation of a protocol of `stitch.core` must pass, as classes to inherit from."""
