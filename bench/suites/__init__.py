"""Suites: each runs one kind of measurement over a data set and returns plain figures."""
