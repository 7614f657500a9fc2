"""Describe the Python that runs a measurement: an optimised build is a tenth faster."""

import platform
import sysconfig


def is_optimised() -> bool:
    """Return whether this Python was compiled with profile-guided optimisation."""
    used = f"{sysconfig.get_config_var('CONFIG_ARGS')} {sysconfig.get_config_var('PY_CORE_CFLAGS')}"
    return "--enable-optimizations" in used or "-fprofile-use" in used


def python_build() -> str:
    kind = "with" if is_optimised() else "without"
    return f"Python {platform.python_version()} {kind} profile-guided optimisation"
