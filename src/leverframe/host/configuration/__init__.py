"""The configuration of the process: a TOML file, environment variables and flags.

A new key is a new field in `fields.py`, and nothing else.
"""

from leverframe.host.configuration.fields import AskedVersion, BadConfiguration, Config, NodeConfig
from leverframe.host.configuration.reader import read_config

__all__ = ["AskedVersion", "BadConfiguration", "Config", "NodeConfig", "read_config"]
