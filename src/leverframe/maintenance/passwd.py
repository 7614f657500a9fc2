"""`leverframe passwd`: set the password of an account while the controller is stopped.

It sets the first password, or replaces a lost one, for users with access to the data folder. The
password is prompted for, or read from standard input. It never appears on the command line, where
other users of the machine could read it.
"""

import sys
from pathlib import Path

from leverframe.config import Config
from leverframe.process.administrator import (
    PasswordRefused,
    administrator_name,
    random_password,
    set_password,
)
from leverframe.process.asked_secret import ask_secret
from leverframe.process.stored_profile import read_stored_profile
from leverframe.storage.datafolder import existing_folder
from leverframe.storage.sqlite import SqliteStore


async def change_password(config: Config, account: str | None, generate: bool) -> None:
    with existing_folder(Path(config.data)) as folder:
        store = SqliteStore(folder.store_path)
        try:
            name = account or administrator_name(store)
            password = new_password(name, generate=generate)
            profile = config.version.profile(*read_stored_profile(store))
            await set_password(store, profile, name, password)
        finally:
            await store.close()
    if generate:
        print(f"The password of {name} is now {password}")
    else:
        print(f"The password of {name} was changed; sign-in is required from now on.")


def new_password(name: str, *, generate: bool) -> str:
    """Generate a password for an account, or prompt for it."""
    return random_password() if generate else _ask_for(name)


def _ask_for(name: str) -> str:
    password = ask_secret(f"New password of {name}")
    if sys.stdin.isatty() and ask_secret("Repeat the password") != password:
        raise PasswordRefused("The two passwords differ; nothing was changed.")
    return password
