"""The settings as one file: magic, format version, checksum, content.

The content is the profile and every leaf of the settings tree by path, as JSON. Secrets are left
out. The checksum is over everything behind it, so a cut or changed file is known as such.
"""

from hashlib import sha256

import msgspec

from leverframe.engine.settings import Settings
from leverframe.engine.tree import is_secret, leaves
from leverframe.profile import Profile

MAGIC = b"LEVERFRAME\x00"
FORMAT = 1


def encode_backup(profile: Profile, settings: Settings) -> bytes:
    content = {
        "hw": profile.hw,
        "sw": profile.sw,
        "settings": {path: value for path, value in leaves(settings) if not is_secret(path)},
    }
    packed = msgspec.json.encode(content)
    return MAGIC + bytes([FORMAT]) + sha256(packed).digest() + packed
