"""Labelers: what each step was for, what was done, and which kinds of things matter (§2.2)."""
