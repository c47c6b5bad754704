"""Select, extract, check, suppress: the thin layer between the command line and the rooms."""
