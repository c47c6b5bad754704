"""Supposed calls: what a library of the DSL is looked at with where nothing in the tree calls it."""
