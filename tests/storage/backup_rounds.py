"""The long form of the backup tests, for a machine with time.

    python -m tests.storage.backup_rounds --trees 1000 --fuzzed 50000

For every version at which something changes, that many random settings trees go through backup,
reset and restore, secrets and accounts too, and must come back the same. Then backups with every
single byte changed, of every shorter length, and that many spoilt in other ways are uploaded, none
of which may change anything.
"""

import argparse
import asyncio
from random import Random

from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, secret_paths, value_at
from leverframe.interface.table.refusals import Restored
from leverframe.interface.version_change.conversion import carry_over
from leverframe.storage.backup import decode_backup, encode_backup
from leverframe.testing import LoopTwin
from tests.boundary_profiles import PROFILES
from tests.fuzzed_uploads import fuzz
from tests.random_settings import random_settings

UPLOAD = "/post.cgi?settingsupload"
MAX_COMMANDS = 30


def try_trees(profile: Profile, count: int, random: Random) -> None:
    for number in range(count):
        tree = random_settings(profile, random, random.randint(1, MAX_COMMANDS))
        content = decode_backup(encode_backup(profile, tree))
        # What a passphrase would bring, without the time that it takes.
        secrets = {path: value_at(tree, path) for path in secret_paths(tree)}
        settings = {**content.settings, **secrets}
        content = replace(content, settings=settings, left_out=(), with_secrets=True)
        restored = carry_over(content, profile, defaults(profile))
        assert restored == Restored(tree), (profile, number)


async def try_fuzzed(count: int, random: Random) -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=0Lamp")
    sound = (await twin.ok("/dev_settings.bin")).body
    before = twin.controller.engine.settings
    for data in fuzz(sound, random, count):
        assert (await twin.ask(UPLOAD, "POST", data)).status == 400
        assert twin.controller.engine.settings is before


async def try_every_byte(random: Random) -> int:
    """Every single byte changed, and every truncation: refused, nothing changed."""
    twin = await LoopTwin.start(Profile("3.0", "1.10"))
    await twin.ok("/stm.cgi?oname=0Lamp")
    sound = (await twin.ok("/dev_settings.bin")).body
    before = twin.controller.engine.settings
    for place, byte in enumerate(sound):
        changed = sound[:place] + bytes([byte ^ random.randint(1, 255)]) + sound[place + 1 :]
        for data in (changed, sound[:place]):
            assert (await twin.ask(UPLOAD, "POST", data)).status == 400, place
            assert twin.controller.engine.settings is before
            assert twin.controller.pending is before
    return len(sound)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=1000, help="for each version")
    parser.add_argument("--fuzzed", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = Random(options.seed)
    for profile in PROFILES:
        try_trees(profile, options.trees, random)
        print(f"{profile}: {options.trees} trees came back the same", flush=True)
    length = asyncio.run(try_every_byte(random))
    print(f"{length} bytes changed and {length} truncations were refused and changed nothing")
    asyncio.run(try_fuzzed(options.fuzzed, random))
    print(f"{options.fuzzed} spoilt backups were refused and changed nothing")


if __name__ == "__main__":
    main()
