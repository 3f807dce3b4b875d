"""Compiling prompts: an optimizer of DSPy makes a program better on examples, and a gate judges it on others.

What the examples say and how an answer is marked is a `Task`, which whoever has the gold brings along
(`bench.training`): so this room knows neither data sets nor measures.
"""
