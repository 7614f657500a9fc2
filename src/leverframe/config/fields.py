"""Every key of the configuration: its type, its default and its meaning, in one place.

A field is all that a new key needs. The file, the environment variable, the flag of
`leverframe run`, its help, `leverframe config example`, the reference page and the messages about
mistakes are made from the field: from its type, the limits and the description in its `Meta`, the
example where there is no default, and the word that stands for a value (`metavar`).

What is configured here belongs to the process, or says what its controller is made of; what belongs
to the controller itself is set by commands and lives in its store.
"""

import re
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct

from leverframe.errors import ErrorForPeople
from leverframe.profile import Profile, UnknownProfile, existing, newest_software
from leverframe.uploads.bad_upload import BadUpload
from leverframe.wiring import Wiring

MAX_PORT = 65535
Port = Annotated[int, Meta(ge=0, le=MAX_PORT, extra={"metavar": "PORT"})]
Address = Annotated[str, Meta(min_length=1, extra={"metavar": "ADDRESS"})]
File = Annotated[str, Meta(min_length=1, extra={"metavar": "FILE"})]
Folder = Annotated[str, Meta(min_length=1, extra={"metavar": "DIR"})]
Device = Annotated[str, Meta(min_length=1, extra={"metavar": "PATH"})]
Version = Annotated[str, Meta(extra={"metavar": "VERSION"})]


Networks = tuple[IPv4Network | IPv6Network, ...]

MAX_NAME_LETTERS = 31
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1"), ip_network("::ffff:127.0.0.0/104"))


class BadConfiguration(ErrorForPeople):
    """Mistakes in the configuration, one line for each: what is wrong, what is allowed."""


class AskedVersion(Struct, frozen=True):
    """The version that a controller is configured to be; None leaves it to what is stored."""

    hw: str | None = None
    sw: str | None = None

    def profile(
        self, stored_hw: str | None, stored_sw: str | None, stored_for: str | None
    ) -> Profile:
        """Choose the version to run; `stored_for` is the `sw` configured with `stored_sw`."""
        # Firmware that was installed since then counts for more than the same configuration.
        asked = self.sw if self.sw != stored_for else None
        hw = self.hw or stored_hw or Profile().hw
        try:
            sw = asked or stored_sw or self.sw or newest_software(hw)
            # What a data folder is already goes on.
            return Profile(hw, sw) if (hw, sw) == (stored_hw, stored_sw) else existing(hw, sw)
        except UnknownProfile as error:
            raise BadConfiguration(str(error)) from error


class NodeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What belongs to the process, however many controllers it has."""

    host: Annotated[
        Address,
        Meta(
            description="Address to listen on. On any but a loopback address everybody has to sign"
            " in."
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="Port to listen on; 0 takes any that is free.")] = 8080
    data: Annotated[
        Folder, Meta(description="Folder in which settings, counters and history are kept.")
    ] = "data"
    history_days: Annotated[
        int,
        Meta(
            ge=1,
            le=3650,
            description="How many days values are kept in /api/history as they came; one value"
            " a minute stays for 90 days, one a quarter of an hour for ten years.",
            extra={"metavar": "DAYS"},
        ),
    ] = 7
    history_max_mb: Annotated[
        int,
        Meta(
            ge=16,
            le=1_000_000,
            description="How large the history may become, in megabytes; what is oldest goes"
            " first.",
            extra={"metavar": "MB"},
        ),
    ] = 256
    timezone: Annotated[
        Annotated[str, Meta(extra={"metavar": "ZONE"})],
        Meta(description="Time zone of the schedule, like Europe/Warsaw."),
    ] = "UTC"
    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Names under which browsers may ask for the controller, besides its address"
            " and the machine's own name.",
            extra={"metavar": "NAME,NAME"},
        ),
    ] = ()
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses or networks of reverse proxies, the only ones whose"
            " X-Forwarded-For is believed: waits after wrong passwords, shares and the audit trail"
            " then go by the address of the client.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ()
    tls: Annotated[
        bool,
        Meta(description="Answer by HTTPS only, with a certificate made at the first start."),
    ] = False
    tls_certificate: Annotated[
        File | None,
        Meta(
            description="Certificate to use instead (PEM), with tls_key; SIGHUP reads both again.",
            examples=["/etc/leverframe/cellar.crt"],
        ),
    ] = None
    tls_key: Annotated[
        File | None,
        Meta(description="Its private key (PEM).", examples=["/etc/leverframe/cellar.key"]),
    ] = None
    json: Annotated[
        bool,
        Meta(
            description="Tell scripts on standard output, one JSON object a line: `administrator`"
            " with the first password, `ready` with the address and all ports."
        ),
    ] = False
    virtual_time: Annotated[
        bool, Meta(description="Time stands still until /sim.cgi?advance=SECONDS moves it.")
    ] = False
    virtual_start: Annotated[
        Annotated[str, Meta(extra={"metavar": "MOMENT"})] | None,
        Meta(
            description="When virtual time begins, by the clock of the time zone; without this key"
            " on 5 January 2026.",
            examples=["2026-03-29T00:30"],
        ),
    ] = None
    lenient: Annotated[
        bool, Meta(description="Skip bad commands and answer 200, as real units do.")
    ] = False
    capture: Annotated[
        bool | None,
        Meta(
            description="Keep messages in /api/outbox instead of sending them; without this key"
            " that is so on virtual time only.",
            examples=[True],
        ),
    ] = None
    allow_local_targets: Annotated[
        bool,
        Meta(
            description="Let every outgoing channel reach this machine, link-local addresses and"
            " metadata services. Without it HTTP1-HTTP4 reach none of them, and controllers of a"
            " node reach none by any channel."
        ),
    ] = False
    ca_file: Annotated[
        File | None,
        Meta(
            description="Further certificate authorities to trust when messages are sent (PEM).",
            examples=["/etc/leverframe/authorities.pem"],
        ),
    ] = None
    modbus_port: Annotated[
        Port,
        Meta(
            description="Where the Modbus TCP server listens once `modbuson` has switched it on, on"
            " the same host."
        ),
    ] = 5020
    modbus_writers: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses and networks whose clients may also write by Modbus TCP.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ("127.0.0.0/8", "::1")
    snmp_port: Annotated[
        Port,
        Meta(
            description="Where the SNMP agent listens once `snmp` has switched it on, on the same"
            " host."
        ),
    ] = 1161
    tftp_port: Annotated[
        Port,
        Meta(
            description="Where the bootloader takes firmware by TFTP (UDP), on the same host; a"
            " node listens on the address of the controller."
        ),
    ] = 1069
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(
            description="Log from this level on, to standard error; info also tells what happens."
            " Starts and stops are logged unless it is error.",
            extra={"metavar": "LEVEL"},
        ),
    ] = "warning"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="Log lines for people or for programs.", extra={"metavar": "FORMAT"}),
    ] = "text"
    syslog: Annotated[
        Annotated[str, Meta(extra={"metavar": "WHERE"})] | None,
        Meta(description="Log to /dev/log, HOST or HOST:PORT, too.", examples=["/dev/log"]),
    ] = None
    discovery: Annotated[
        bool,
        Meta(
            description="Answer UDP discovery in the network, from HW 3.5 with SW 1.26 on; never on"
            " a loopback address."
        ),
    ] = True
    mdns: Annotated[
        bool,
        Meta(description="Announce the controller by mDNS; never on a loopback address."),
    ] = True

    def writing_networks(self) -> Networks:
        """Return the networks whose clients may write by Modbus TCP."""
        return _networks("modbus_writers", self.modbus_writers)

    def proxy_networks(self) -> Networks:
        """Return where reverse proxies are that are believed."""
        return _networks("proxies", self.proxies)

    def first_moment(self) -> float | None:
        """Return when virtual time begins, in seconds since 1970; None where nothing is said."""
        if self.virtual_start is None:
            return None
        try:
            moment = datetime.fromisoformat(self.virtual_start)
        except ValueError:
            raise BadConfiguration(
                f"virtual_start: {self.virtual_start!r} is not a moment; write it like"
                " 2026-03-29T00:30."
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=self.zone())).timestamp()

    def own_address(self) -> str | None:
        """Return the IPv4 address that it listens on; None for a name, IPv6 or all addresses."""
        try:
            address = IPv4Address(self.host)
        except ValueError:
            return None
        return None if address.is_unspecified else str(address)

    def zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise BadConfiguration(
                f"The timezone {self.timezone!r} is unknown; use a name such as Europe/Warsaw."
            ) from None


class Config(NodeConfig, frozen=True, forbid_unknown_fields=True):
    """A process with one controller: what belongs to that one, besides.

    A controller of a node has a record, and may have some of these keys in the fleet file.
    """

    hw: Annotated[
        Version | None,
        Meta(
            description="Hardware version, 3.0 to 3.9. A data folder keeps its own; without this"
            " key a new one gets the newest.",
            examples=[Profile().hw],
        ),
    ] = None
    sw: Annotated[
        Version | None,
        Meta(
            description="Software version, like 1.49d. A data folder keeps its own; without this"
            " key a new one gets the newest.",
            examples=[Profile().sw],
        ),
    ] = None
    name: Annotated[
        Annotated[str, Meta(min_length=1, extra={"metavar": "NAME"})] | None,
        Meta(
            description="What the controller is called until the command `sname` names it; without"
            " this key a name is made at the first start.",
            examples=["Cellar"],
        ),
    ] = None
    mac: Annotated[
        Annotated[str, Meta(extra={"metavar": "ADDRESS"})] | None,
        Meta(
            description="MAC address by which clients know the controller, such as that of a unit"
            " whose place it takes; without this key one is made at the first start.",
            examples=["D8:80:39:12:34:56"],
        ),
    ] = None
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(
            description="Other sites whose pages may use the controller (CORS), each exactly as"
            " browsers name it, like https://panel.example.",
            extra={"metavar": "ORIGIN,ORIGIN"},
        ),
    ] = ()
    trusted: Annotated[
        tuple[str, ...],
        Meta(
            description="Networks whose programs need not sign in, because they cannot. Never holds"
            " for browsers, nor for what a proxy forwards.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ()
    trusted_role: Annotated[
        Literal["user", "administrator"],
        Meta(description="Whose rights they have.", extra={"metavar": "ROLE"}),
    ] = "user"
    redirect_port: Annotated[
        Port | None,
        Meta(
            description="With TLS, a port without it, which only leads to HTTPS; without this key"
            " that is 80 where `port` is 443. The port itself does so in any case.",
            examples=[80],
        ),
    ] = None
    recorded: Annotated[
        File | None,
        Meta(
            description="Recording, made by `leverframe record`, whose answers are given to"
            " requests that this version does not know.",
            examples=["session.jsonl"],
        ),
    ] = None
    mqtt_certificate: Annotated[
        File | None,
        Meta(
            description="Certificate that the MQTT broker is shown (PEM), with mqtt_key.",
            examples=["/etc/leverframe/mqtt.crt"],
        ),
    ] = None
    mqtt_key: Annotated[
        File | None,
        Meta(description="Its private key (PEM).", examples=["/etc/leverframe/mqtt.key"]),
    ] = None
    serial_port: Annotated[
        Device | None,
        Meta(description="Where the serial module is.", examples=["/dev/ttyUSB0"]),
    ] = None
    serial_modbus: Annotated[
        Device | None,
        Meta(description="Where the Modbus RTU bus is.", examples=["/dev/ttyUSB1"]),
    ] = None
    udp_bootloader: Annotated[
        bool,
        Meta(
            description="Start the bootloader when anybody in the network sends the bytes for it,"
            " as real units do; at most every ten minutes."
        ),
    ] = False
    firmware_key: Annotated[
        File | None,
        Meta(
            description="Public key (PEM) of the owner, who signs firmware; without it the"
            " bootloader refuses every image.",
            examples=["/etc/leverframe/owner.pub"],
        ),
    ] = None
    firmware_check_url: Annotated[
        Annotated[str, Meta(extra={"metavar": "URL"})] | None,
        Meta(
            description="Address that the automatic firmware check (`bit1`) asks once a day; it"
            " answers JSON with version, hardware and notes.",
            examples=["https://example.org/leverframe/newest.json"],
        ),
    ] = None
    board: Wiring = Wiring()

    @property
    def version(self) -> AskedVersion:
        return AskedVersion(self.hw, self.sw)

    def public_key(self) -> bytes | None:
        """Read the key that firmware is checked with, or return None where none is configured."""
        if self.firmware_key is None:
            return None
        # Imported here: signatures take long to load, and few controllers take firmware.
        from leverframe.uploads.firmware import check_public_key

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

    def mac_address(self) -> str | None:
        """Return the MAC address as clients are told it, or None where none is configured."""
        if self.mac is None:
            return None
        match = re.fullmatch(
            r"[0-9A-Fa-f]{2}([:-]?)(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}", self.mac
        )
        octets = bytes.fromhex(re.sub("[:-]", "", self.mac)) if match else b""
        if not octets or not any(octets) or octets[0] & 1:
            raise BadConfiguration(
                f"mac: {self.mac!r} is no address of one device; write six pairs of digits such as"
                " D8:80:39:12:34:56, the first of them even."
            )
        return octets.hex(":").upper()

    def check_name(self) -> None:
        """Refuse what the command `sname` would refuse."""
        name = self.name or ""
        if len(name) > MAX_NAME_LETTERS or name != name.strip() or not name.isprintable():
            raise BadConfiguration(
                f"name: write one line of up to {MAX_NAME_LETTERS} letters, without a space at its"
                " ends."
            )

    def trusted_networks(self) -> Networks:
        """Return the networks whose programs need not sign in."""
        networks = _networks("trusted", self.trusted)
        for network in networks:
            if any(network.overlaps(own) for own in _LOOPBACK if own.version == network.version):
                raise BadConfiguration(
                    f"trusted: {network} holds this machine itself, where a proxy would speak for"
                    " everybody; write networks such as 192.168.7.0/24."
                )
        return networks


def _networks(key: str, texts: tuple[str, ...]) -> Networks:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise BadConfiguration(
            f"{key}: {error}; write addresses or networks such as 192.168.1.0/24."
        ) from None
