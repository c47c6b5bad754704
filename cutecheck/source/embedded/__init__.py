"""CUDA C++ in strings of programs (NVRTC, ``load_inline``, ``cupy.RawModule``), read as translation units.

A unit is the text of its program with all else blanked, so that lines and columns are those of the program. Its path
is the program's with ``:string N.cu`` behind it, which people are not shown (:attr:`cutecheck.facts.Span.file`).
"""
