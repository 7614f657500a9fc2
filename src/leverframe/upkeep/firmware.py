"""`leverframe firmware`: keys, and images that a controller takes in its bootloader.

The private key stays with the owner, in a file for nobody else; controllers get the public one as
`firmware_key` in their configuration.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from leverframe.profile import HARDWARE, UnknownProfile
from leverframe.uploads.bad_upload import BadUpload
from leverframe.uploads.firmware import (
    build_image,
    check_image,
    new_key_pair,
    read_image,
    sign_image,
)

_FIRMWARE = """\
Another software version for a controller, sent by TFTP while its bootloader waits.

  leverframe firmware keygen owner                       makes owner.key and owner.pub
  leverframe firmware build --hw 3.9 --sw 1.60a new.img  perhaps with --site my.site
  leverframe firmware sign new.img --key owner.key
  leverframe firmware show new.img --key owner.pub       what it is, and whether it is signed

  firmware_key = "owner.pub"   in the configuration of the controller, then
  curl 'http://127.0.0.1:8080/stm.cgi?upgrade=devstart3'
  tftp -m binary 127.0.0.1 1069 -c put new.img
"""


def add_firmware(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    firmware = commands.add_parser(
        "firmware",
        help="make, sign and show firmware images",
        description=_FIRMWARE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = firmware.add_subparsers(title="tasks", metavar="TASK", required=True)
    keygen = tasks.add_parser("keygen", help="make a pair of keys")
    keygen.add_argument("name", metavar="NAME", help="makes NAME.key, to be kept, and NAME.pub")
    keygen.set_defaults(command=_or_told(_keygen))
    build = tasks.add_parser("build", help="make an image")
    build.add_argument("image", metavar="IMAGE", type=Path)
    build.add_argument(
        "--hw", action="append", required=True, choices=HARDWARE, help="may be given several times"
    )
    build.add_argument("--sw", required=True, help="software version, like 1.49d")
    build.add_argument("--site", metavar="FILE", type=Path, help="made by leverframe site build")
    build.set_defaults(command=_or_told(_build))
    sign = tasks.add_parser("sign", help="sign an image, in place")
    sign.add_argument("image", metavar="IMAGE", type=Path)
    sign.add_argument("--key", metavar="FILE", type=Path, required=True, help="the private key")
    sign.set_defaults(command=_or_told(_sign))
    show = tasks.add_parser("show", help="say what an image holds")
    show.add_argument("image", metavar="IMAGE", type=Path)
    show.add_argument("--key", metavar="FILE", type=Path, help="public key to check it with")
    show.set_defaults(command=_or_told(_show))


def _or_told(task: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], int]:
    """The task, whose mistakes end in one line."""

    def run(options: argparse.Namespace) -> int:
        try:
            task(options)
        except (BadUpload, UnknownProfile) as error:
            print(f"leverframe: {error}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"leverframe: {error.filename}: {error.strerror}.", file=sys.stderr)
            return 1
        return 0

    return run


def _keygen(options: argparse.Namespace) -> None:
    private, public = new_key_pair()
    # Never over a key that is there: images signed with it could not be made again.
    key = os.open(f"{options.name}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(key, "wb") as file:
        file.write(private)
    Path(f"{options.name}.pub").write_bytes(public)
    print(f"Keep {options.name}.key; controllers get {options.name}.pub as firmware_key.")


def _build(options: argparse.Namespace) -> None:
    site = options.site.read_bytes() if options.site else None
    options.image.write_bytes(build_image(options.hw, options.sw, site))
    print(f"{options.image}: not signed yet; use leverframe firmware sign.")


def _sign(options: argparse.Namespace) -> None:
    image = sign_image(options.image.read_bytes(), options.key.read_bytes())
    options.image.write_bytes(image)
    print(f"{options.image}: signed.")


def _show(options: argparse.Namespace) -> None:
    image = options.image.read_bytes()
    firmware = read_image(image)
    site = f"a site of {len(firmware.site)} bytes" if firmware.site else "no site"
    print(f"SW {firmware.sw} for HW {', '.join(firmware.hw)}, with {site}")
    if options.key is not None:
        check_image(image, options.key.read_bytes(), firmware.hw[0])
        print("Signed by the owner of that key.")
    else:
        print("Signed; by whom, --key tells." if firmware.is_signed else "Not signed.")
