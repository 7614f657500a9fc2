"""`leverframe config check|example`: the effective configuration, and an example."""

import sys

from leverframe.config.effective import effective_table
from leverframe.config.example import example
from leverframe.config.fields import BadConfiguration, Config
from leverframe.config.reading import check_sources
from leverframe.config.sources import Sources
from leverframe.exit_codes import DONE, NO


def check_config(sources: Sources) -> int:
    """Print the effective settings with their sources, or all mistakes."""
    try:
        print(effective_table(sources, check_sources(sources, Config)))
    except BadConfiguration as error:
        for line in str(error).splitlines():
            print(f"leverframe: {line}", file=sys.stderr)
        return NO
    return DONE


def print_example() -> None:
    """Print a configuration file with every key."""
    print(example(), end="")
