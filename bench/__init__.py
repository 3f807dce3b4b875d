"""Benchmarks: data sets, measures, methods, suites, and reports that others can run again."""
