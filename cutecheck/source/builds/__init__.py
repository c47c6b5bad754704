"""Macros that a tree's own build files give to the compiler, where no compilation database says so.

``setup_py``, ``cmake``: what one file says, read and never run. ``macros``: which files concern which source.
"""
