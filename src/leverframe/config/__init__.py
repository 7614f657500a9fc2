"""The configuration of the process: a TOML file, environment variables and flags.

A new key is a new field in `fields.py`, and nothing else.
"""

from leverframe.config.fields import BadConfiguration, Config
from leverframe.config.reading import read_config

__all__ = ["BadConfiguration", "Config", "read_config"]
