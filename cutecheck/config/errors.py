"""What is wrong with a configuration, in one line."""

from __future__ import annotations


class ConfigError(Exception):
    """A configuration that cannot be used; the message is one line and names the file and the key."""
