"""Loaders of data sets: trajectories that a memory may see, and gold that it must not, in types of their own."""
