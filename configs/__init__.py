"""Settings as YAML files, each opening with the command that uses it."""
