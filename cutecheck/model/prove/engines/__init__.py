"""Proof engines, one file each. Every function takes an obligation and options and gives an answer."""
