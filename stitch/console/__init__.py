"""Shared parts of commands: options, printing, signals."""
