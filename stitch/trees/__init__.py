"""Artifacts as trees."""

from stitch.trees.nodes import Node, Several, Tree, own_text, whole_text

__all__ = ["Node", "Several", "Tree", "own_text", "whole_text"]
