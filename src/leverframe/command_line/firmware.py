"""`leverframe firmware`: keys, and images that a controller takes in its bootloader."""

import argparse
from pathlib import Path

from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task
from leverframe.profile import HARDWARE

_DESCRIPTION = """\
Another software version for a controller, sent by TFTP while its bootloader waits.

  leverframe firmware keygen owner                       makes owner.key and owner.pub
  leverframe firmware build --hw 3.9 --sw 1.60a new.img  perhaps with --site my.site
  leverframe firmware sign new.img --key owner.key
  leverframe firmware show new.img --key owner.pub       what it is, and whether it is signed

  firmware_key = "owner.pub"   in the configuration of the controller, then
  curl 'http://127.0.0.1:8080/stm.cgi?upgrade=devstart3'
  tftp -m binary 127.0.0.1 1069 -c put new.img
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    text = "make, sign and show firmware images"
    tasks = add_group(commands, "firmware", text, _DESCRIPTION)
    keygen = add_task(tasks, "keygen", _keygen, "make a pair of keys")
    keygen.add_argument("name", metavar="NAME", help="makes NAME.key, to be kept, and NAME.pub")
    build = add_task(tasks, "build", _build, "make an image")
    build.add_argument("image", metavar="IMAGE", type=Path)
    build.add_argument(
        "--hw", action="append", required=True, choices=HARDWARE, help="may be given several times"
    )
    build.add_argument("--sw", required=True, help="software version, like 1.49d")
    build.add_argument("--site", metavar="FILE", type=Path, help="made by leverframe site build")
    sign = add_task(tasks, "sign", _sign, "sign an image, in place")
    sign.add_argument("image", metavar="IMAGE", type=Path)
    sign.add_argument("--key", metavar="FILE", type=Path, required=True, help="the private key")
    show = add_task(tasks, "show", _show, "say what an image holds")
    show.add_argument("image", metavar="IMAGE", type=Path)
    show.add_argument("--key", metavar="FILE", type=Path, help="public key to check it with")


def _keygen(options: argparse.Namespace) -> int:
    from leverframe.maintenance.firmware import make_keys

    make_keys(options.name)
    return 0


def _build(options: argparse.Namespace) -> int:
    from leverframe.maintenance.firmware import build

    build(options.image, options.hw, options.sw, options.site)
    return 0


def _sign(options: argparse.Namespace) -> int:
    from leverframe.maintenance.firmware import sign

    sign(options.image, options.key)
    return 0


def _show(options: argparse.Namespace) -> int:
    from leverframe.maintenance.firmware import show

    show(options.image, options.key)
    return 0
