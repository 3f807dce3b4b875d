"""Doubles of stores, journals, labelers and servers, each the plainest thing that satisfies its protocol."""
