"""Which version a controller starts as: configured, stored, or brought by firmware."""

from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.host.configuration import BadConfiguration, Config, read_config
from leverframe.interface.uploads.firmware import new_key_pair


def test_configured_version_is_taken_and_then_kept() -> None:
    assert Config(sw="1.49").version.profile(None, None, None) == Profile("3.9", "1.49")
    assert Config().version.profile("3.5", "1.49", "1.49") == Profile("3.5", "1.49")
    assert Config().version.profile(None, None, None) == Profile()
    assert Config(hw="3.0").version.profile(None, None, None) == Profile("3.0", "1.58a")
    # A data folder of this version keeps it.
    assert Config(hw="3.0").version.profile("3.0", "1.75", None) == Profile("3.0", "1.75")
    with pytest.raises(BadConfiguration, match=r"newest version for it is 1\.58a"):
        Config(hw="3.0", sw="1.75").version.profile(None, None, None)


def test_firmware_counts_for_more_than_the_configuration_it_came_after() -> None:
    assert Config(sw="1.49").version.profile("3.9", "1.60a", "1.49") == Profile("3.9", "1.60a")
    # A newly requested version replaces that of the folder.
    assert Config(sw="1.57").version.profile("3.9", "1.60a", "1.49") == Profile("3.9", "1.57")


def test_unusable_key_is_reported_before_the_start(tmp_path: Path) -> None:
    private, public = new_key_pair()
    key = tmp_path / "owner.pub"
    with pytest.raises(BadConfiguration, match="--firmware-key: .* cannot be read"):
        read_config(None, {"firmware_key": str(key)})
    key.write_bytes(private)
    with pytest.raises(BadConfiguration, match="--firmware-key: This is not a public key"):
        read_config(None, {"firmware_key": str(key)})
    key.write_bytes(public)
    assert read_config(None, {"firmware_key": str(key)}).public_key() == public
