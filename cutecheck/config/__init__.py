"""Settings: defaults, configuration files, and how the command line overrides them."""

from cutecheck.config.architectures import architectures
from cutecheck.config.errors import ConfigError
from cutecheck.config.load import find_config, load_settings, origins, read_config
from cutecheck.config.settings import FailOn, Settings, UnknownPolicy

__all__ = [
    "ConfigError",
    "FailOn",
    "Settings",
    "UnknownPolicy",
    "architectures",
    "find_config",
    "load_settings",
    "origins",
    "read_config",
]
