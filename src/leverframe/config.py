"""How the process is told what to be: a TOML file, then the command line on top of it.

Everything is checked before anything starts; a mistake is one sentence that names the key and what
is allowed. What is configured here belongs to the process; what belongs to the controller is set by
commands and lives in its store.
"""

import ssl
import tomllib
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from leverframe.profile import Profile, UnknownProfile
from leverframe.uploads.bad_upload import BadUpload
from leverframe.uploads.firmware import check_public_key
from leverframe.wiring import BadWiring, Wiring, check_wiring


class BadConfiguration(Exception):
    """One sentence: what is wrong, what is allowed."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    port: int = 8080
    #: Folder of the store.
    data: str = "data"
    #: None keeps the version of the store, or takes the newest for a new one.
    hw: str | None = None
    sw: str | None = None
    timezone: str = "UTC"
    #: Names besides its address under which browsers may ask for the controller.
    hosts: tuple[str, ...] = ()
    #: Answer by HTTPS only, with a certificate of its own or with the given files.
    tls: bool = False
    tls_certificate: str | None = None
    tls_key: str | None = None
    virtual_time: bool = False
    lenient: bool = False
    #: Keep messages instead of sending them; None does so on virtual time only.
    capture: bool | None = None
    #: HTTP1-HTTP4 may request this machine, link-local addresses and metadata services.
    allow_local_targets: bool = False
    #: PEM file with further certificate authorities to trust when messages are sent.
    ca_file: str | None = None
    #: Where the serial module is, like /dev/ttyUSB0.
    serial_port: str | None = None
    #: Where the Modbus RTU bus is.
    serial_modbus: str | None = None
    #: Where the Modbus TCP server listens once `modbuson` has switched it on, on the same host.
    modbus_port: int = 5020
    #: Addresses and networks whose clients may also write by Modbus TCP.
    modbus_writers: tuple[str, ...] = ("127.0.0.0/8", "::1")
    #: Where the SNMP agent listens once `snmp` has switched it on, on the same host.
    snmp_port: int = 1161
    #: What is logged to standard error, and how; with syslog also to /dev/log, HOST or HOST:PORT.
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    log_format: Literal["text", "json"] = "text"
    syslog: str | None = None
    #: Be found in the network; never on a loopback address.
    discovery: bool = True
    mdns: bool = True
    #: Start the bootloader when anybody in the network sends the bytes for it, as real units do.
    udp_bootloader: bool = False
    #: Where the bootloader takes firmware by TFTP (UDP), on the same host.
    tftp_port: int = 1069
    #: PEM file with the public key of whoever signs firmware; without it no image is installed.
    firmware_key: str | None = None
    #: What the labels hang on; see wiring.py.
    board: Wiring = Wiring()

    def profile(
        self, stored_hw: str | None, stored_sw: str | None, stored_for: str | None
    ) -> Profile:
        """The version to run. `stored_for` is what was configured when `stored_sw` was stored."""
        newest = Profile()
        # Firmware that was installed since then counts for more than the same configuration.
        asked = self.sw if self.sw != stored_for else None
        try:
            return Profile(
                self.hw or stored_hw or newest.hw, asked or stored_sw or self.sw or newest.sw
            )
        except UnknownProfile as error:
            raise BadConfiguration(str(error)) from error

    def public_key(self) -> bytes | None:
        """The key that firmware is checked with."""
        if self.firmware_key is None:
            return None
        try:
            key = Path(self.firmware_key).read_bytes()
            check_public_key(key)
        except OSError as error:
            raise BadConfiguration(
                f"firmware_key: {self.firmware_key} cannot be read: {error.strerror}."
            ) from error
        except BadUpload as error:
            raise BadConfiguration(f"firmware_key: {error}") from error
        return key

    def writing_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Whose clients may write by Modbus TCP."""
        try:
            return tuple(ip_network(text) for text in self.modbus_writers)
        except ValueError as error:
            raise BadConfiguration(
                f"modbus_writers: {error}; write addresses or networks such as 192.168.1.0/24."
            ) from None

    def zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise BadConfiguration(
                f"The timezone {self.timezone!r} is unknown; use a name such as Europe/Warsaw."
            ) from None


def read_config(path: Path | None, overrides: dict[str, Any]) -> Config:
    """The file's values with the command line's on top."""
    values = _file_values(path) if path is not None else {}
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        config = msgspec.convert({**values, **given}, Config)
    except msgspec.ValidationError as error:
        known = ", ".join(Config.__struct_fields__)
        raise BadConfiguration(
            f"{path or 'The configuration'}: {error}. Known keys are {known}."
        ) from error
    for port in (config.port, config.snmp_port, config.modbus_port, config.tftp_port):
        if not 0 <= port <= 65535:
            raise BadConfiguration(f"The port {port} is outside 0 to 65535.")
    config.writing_networks()
    config.public_key()
    if config.serial_port is not None and config.serial_port == config.serial_modbus:
        raise BadConfiguration(
            "serial_port and serial_modbus name the same port; a module and a bus cannot share it."
        )
    config.zone()
    config.profile(None, None, None)
    _check_ca_file(config)
    _check_board(config)
    if (config.tls_certificate is None) != (config.tls_key is None):
        raise BadConfiguration("tls_certificate and tls_key go together; give both or neither.")
    return config


def _check_ca_file(config: Config) -> None:
    if config.ca_file is None:
        return
    try:
        ssl.create_default_context(cafile=config.ca_file)
    except ssl.SSLError:
        raise BadConfiguration(
            f"{config.ca_file} holds no certificates; name a PEM file with --ca-file."
        ) from None
    except OSError as error:
        raise BadConfiguration(f"{config.ca_file} cannot be read: {error.strerror}.") from error


def _check_board(config: Config) -> None:
    try:
        check_wiring(config.board)
    except BadWiring as error:
        raise BadConfiguration(str(error)) from error
    if config.virtual_time and config.board.kind != "simulated":
        raise BadConfiguration(
            "Virtual time needs the simulated board: real devices do not wait. Leave out one of"
            ' --virtual-time and kind = "linux".'
        )


def _file_values(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} is not valid TOML: {error}.") from error
