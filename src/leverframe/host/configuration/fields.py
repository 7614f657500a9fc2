"""Every key of the configuration: its type, its default and its meaning, in one place.

A new key needs only a field. The file, the environment variable, the option of `leverframe run`,
its help, `leverframe config example`, the reference page and the messages about mistakes are built
from the field. All of them use the type of the field, the limits and the description in its `Meta`,
the example if there is no default, and the placeholder for its value (`metavar`).

These keys configure the process and the hardware of its controller. The controller's own settings
are different: commands change them, and its store keeps them.
"""

import re
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct

from leverframe.core.errors import BadUpload, ErrorForPeople
from leverframe.core.profile import Profile, UnknownProfile, existing, newest_software
from leverframe.devices.wiring import Wiring

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
    """Mistakes in the configuration, one line each: what is wrong and what is allowed."""


class AskedVersion(Struct, frozen=True):
    """The configured version of a controller; None keeps the stored version."""

    hw: str | None = None
    sw: str | None = None

    def profile(
        self, stored_hw: str | None, stored_sw: str | None, stored_for: str | None
    ) -> Profile:
        """Choose the version to run.

        `stored_for` is the value of `sw` that was configured when `stored_sw` was stored.
        """
        # An unchanged configuration does not override firmware that was installed since then.
        new_sw = self.sw if self.sw != stored_for else None
        hw = self.hw or stored_hw or Profile().hw
        try:
            sw = new_sw or stored_sw or self.sw or newest_software(hw)
            # A data folder keeps its version, even one that is not in the catalogue.
            return Profile(hw, sw) if (hw, sw) == (stored_hw, stored_sw) else existing(hw, sw)
        except UnknownProfile as error:
            raise BadConfiguration(str(error)) from error


class NodeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of the process, for one controller or many."""

    host: Annotated[
        Address,
        Meta(
            description="Address to listen on. On any address other than loopback, sign-in is"
            " required."
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="Port to listen on; 0 selects any free port.")] = 8080
    data: Annotated[Folder, Meta(description="Folder for settings, counters and history.")] = "data"
    history_days: Annotated[
        int,
        Meta(
            ge=1,
            le=3650,
            description="Number of days for which /api/history keeps every value. After that it"
            " keeps one value per minute for 90 days and one per 15 minutes for ten years.",
            extra={"metavar": "DAYS"},
        ),
    ] = 7
    history_max_mb: Annotated[
        int,
        Meta(
            ge=16,
            le=1_000_000,
            description="Maximum size of the history in megabytes; the oldest values are deleted"
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
            description="Host names that browsers may use for the controller, in addition to its"
            " address and the machine's own name.",
            extra={"metavar": "NAME,NAME"},
        ),
    ] = ()
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses or networks of reverse proxies whose X-Forwarded-For is trusted."
            " Waits after wrong passwords, connection limits and the audit trail then use the"
            " address of the client.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ()
    tls: Annotated[
        bool,
        Meta(description="Serve HTTPS only, with a certificate created at the first start."),
    ] = False
    tls_certificate: Annotated[
        File | None,
        Meta(
            description="Your own certificate (PEM), used with tls_key; SIGHUP reloads both.",
            examples=["/etc/leverframe/cellar.crt"],
        ),
    ] = None
    tls_key: Annotated[
        File | None,
        Meta(
            description="Private key of tls_certificate (PEM).",
            examples=["/etc/leverframe/cellar.key"],
        ),
    ] = None
    json: Annotated[
        bool,
        Meta(
            description="Write JSON Lines to standard output: `administrator` with the first"
            " password, `ready` with the address and all ports."
        ),
    ] = False
    virtual_time: Annotated[
        bool, Meta(description="Stop time; only /sim.cgi?advance=SECONDS moves it.")
    ] = False
    virtual_start: Annotated[
        Annotated[str, Meta(extra={"metavar": "MOMENT"})] | None,
        Meta(
            description="Start of virtual time, as local time in the time zone; without this key"
            " 5 January 2026.",
            examples=["2026-03-29T00:30"],
        ),
    ] = None
    lenient: Annotated[
        bool, Meta(description="Ignore invalid commands and answer 200, as real units do.")
    ] = False
    capture: Annotated[
        bool | None,
        Meta(
            description="Keep messages in /api/outbox instead of sending them; without this key"
            " only in virtual time.",
            examples=[True],
        ),
    ] = None
    allow_local_targets: Annotated[
        bool,
        Meta(
            description="Allow every outgoing channel to reach this machine, link-local addresses"
            " and metadata services. By default HTTP1-HTTP4 cannot reach them, and controllers of a"
            " node cannot reach them through any channel."
        ),
    ] = False
    ca_file: Annotated[
        File | None,
        Meta(
            description="Additional certificate authorities to trust when sending messages (PEM).",
            examples=["/etc/leverframe/authorities.pem"],
        ),
    ] = None
    modbus_port: Annotated[
        Port,
        Meta(
            description="Port of the Modbus TCP server on the same host; the command `modbuson`"
            " switches it on."
        ),
    ] = 5020
    modbus_writers: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses and networks whose clients may write through Modbus TCP; all"
            " clients may read.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ("127.0.0.0/8", "::1")
    snmp_port: Annotated[
        Port,
        Meta(
            description="Port of the SNMP agent on the same host; the command `snmp` switches it"
            " on."
        ),
    ] = 1161
    tftp_port: Annotated[
        Port,
        Meta(
            description="Port on which the bootloader receives firmware by TFTP (UDP), on the same"
            " host; on a node, at the address of the controller."
        ),
    ] = 1069
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(
            description="Lowest level that is logged to standard error; info includes events."
            " Starts and stops are logged at every level except error.",
            extra={"metavar": "LEVEL"},
        ),
    ] = "warning"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="Format of log lines.", extra={"metavar": "FORMAT"}),
    ] = "text"
    syslog: Annotated[
        Annotated[str, Meta(extra={"metavar": "WHERE"})] | None,
        Meta(
            description="Also log to this syslog: /dev/log, HOST or HOST:PORT.",
            examples=["/dev/log"],
        ),
    ] = None
    discovery: Annotated[
        bool,
        Meta(
            description="Answer UDP discovery in the network, from HW 3.5 with SW 1.26 on, except"
            " on a loopback address."
        ),
    ] = True
    mdns: Annotated[
        bool,
        Meta(description="Announce the controller by mDNS, except on a loopback address."),
    ] = True

    def writing_networks(self) -> Networks:
        """Return the networks whose clients may write by Modbus TCP."""
        return _networks("modbus_writers", self.modbus_writers)

    def proxy_networks(self) -> Networks:
        """Return the networks of trusted reverse proxies."""
        return _networks("proxies", self.proxies)

    def first_moment(self) -> float | None:
        """Return the start of virtual time in seconds since 1970; None if not configured."""
        if self.virtual_start is None:
            return None
        try:
            moment = datetime.fromisoformat(self.virtual_start)
        except ValueError:
            raise BadConfiguration(
                f"virtual_start: {self.virtual_start!r} is not a date and time; write it like"
                " 2026-03-29T00:30."
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=self.zone())).timestamp()

    def own_address(self) -> str | None:
        """Return the IPv4 address to listen on; None for a name, IPv6 or all addresses."""
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
                f"Unknown timezone {self.timezone!r}; use a name such as Europe/Warsaw."
            ) from None


class Config(NodeConfig, frozen=True, forbid_unknown_fields=True):
    """Keys of a process with one controller: the keys of the process and of the controller.

    A controller of a node has a record instead; the fleet file can set some of these keys.
    """

    hw: Annotated[
        Version | None,
        Meta(
            description="Hardware version, 3.0 to 3.9. Without this key, an existing data folder"
            " keeps its version and a new folder gets the newest.",
            examples=[Profile().hw],
        ),
    ] = None
    sw: Annotated[
        Version | None,
        Meta(
            description="Software version, like 1.49d. Without this key, an existing data folder"
            " keeps its version and a new folder gets the newest.",
            examples=[Profile().sw],
        ),
    ] = None
    name: Annotated[
        Annotated[str, Meta(min_length=1, extra={"metavar": "NAME"})] | None,
        Meta(
            description="Name of the controller until the command `sname` sets another; without"
            " this key a name is generated at the first start.",
            examples=["Cellar"],
        ),
    ] = None
    mac: Annotated[
        Annotated[str, Meta(extra={"metavar": "ADDRESS"})] | None,
        Meta(
            description="MAC address that clients see, for example that of the unit that the"
            " controller replaces;"
            " without this key one is generated at the first start.",
            examples=["D8:80:39:12:34:56"],
        ),
    ] = None
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(
            description="Origins of other sites whose pages may use the controller (CORS), written"
            " as browsers send them, like https://panel.example.",
            extra={"metavar": "ORIGIN,ORIGIN"},
        ),
    ] = ()
    trusted: Annotated[
        tuple[str, ...],
        Meta(
            description="Networks whose programs need not sign in. This never applies to browsers"
            " or to requests forwarded by a proxy.",
            extra={"metavar": "NETWORK,NETWORK"},
        ),
    ] = ()
    trusted_role: Annotated[
        Literal["user", "administrator"],
        Meta(description="Role of programs in trusted networks.", extra={"metavar": "ROLE"}),
    ] = "user"
    redirect_port: Annotated[
        Port | None,
        Meta(
            description="With TLS, an additional plain HTTP port that redirects to HTTPS; without"
            " this key port 80 if `port` is 443. `port` itself always redirects plain HTTP.",
            examples=[80],
        ),
    ] = None
    recorded: Annotated[
        File | None,
        Meta(
            description="Recording from `leverframe record`; its answers are sent for requests"
            " that this version does not support.",
            examples=["session.jsonl"],
        ),
    ] = None
    mqtt_certificate: Annotated[
        File | None,
        Meta(
            description="Client certificate for the MQTT broker (PEM), used with mqtt_key.",
            examples=["/etc/leverframe/mqtt.crt"],
        ),
    ] = None
    mqtt_key: Annotated[
        File | None,
        Meta(
            description="Private key of mqtt_certificate (PEM).",
            examples=["/etc/leverframe/mqtt.key"],
        ),
    ] = None
    serial_port: Annotated[
        Device | None,
        Meta(description="Serial device of the serial module.", examples=["/dev/ttyUSB0"]),
    ] = None
    serial_modbus: Annotated[
        Device | None,
        Meta(description="Serial device of the Modbus RTU bus.", examples=["/dev/ttyUSB1"]),
    ] = None
    udp_bootloader: Annotated[
        bool,
        Meta(
            description="Start the bootloader when any host in the network sends its UDP request,"
            " as real units do; at most every ten minutes."
        ),
    ] = False
    firmware_key: Annotated[
        File | None,
        Meta(
            description="Public key (PEM) of the owner, who signs firmware; without this key the"
            " bootloader rejects every image.",
            examples=["/etc/leverframe/owner.pub"],
        ),
    ] = None
    firmware_check_url: Annotated[
        Annotated[str, Meta(extra={"metavar": "URL"})] | None,
        Meta(
            description="URL that the automatic firmware check (`bit1`) requests once a day; the"
            " answer is JSON with version, hardware and notes.",
            examples=["https://example.org/leverframe/newest.json"],
        ),
    ] = None
    board: Wiring = Wiring()

    @property
    def version(self) -> AskedVersion:
        return AskedVersion(self.hw, self.sw)

    def public_key(self) -> bytes | None:
        """Read the key that verifies firmware; None if not configured."""
        if self.firmware_key is None:
            return None
        # Imported here: signatures are slow to import, and few controllers accept firmware.
        from leverframe.interface.uploads.firmware import check_public_key

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
        """Return the MAC address in the form that clients see; None if not configured."""
        if self.mac is None:
            return None
        match = re.fullmatch(
            r"[0-9A-Fa-f]{2}([:-]?)(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}", self.mac
        )
        octets = bytes.fromhex(re.sub("[:-]", "", self.mac)) if match else b""
        if not octets or not any(octets) or octets[0] & 1:
            raise BadConfiguration(
                f"mac: {self.mac!r} is not the MAC address of a single device; write six pairs of"
                " hexadecimal digits such as D8:80:39:12:34:56, the first pair even and not all"
                " zero."
            )
        return octets.hex(":").upper()

    def check_name(self) -> None:
        """Reject a name that the command `sname` would reject."""
        name = self.name or ""
        if len(name) > MAX_NAME_LETTERS or name != name.strip() or not name.isprintable():
            raise BadConfiguration(
                f"name: {name!r} is not allowed; write one line of at most {MAX_NAME_LETTERS}"
                " characters, without leading or trailing spaces."
            )

    def networks_without_sign_in(self) -> Networks:
        """Return the networks whose programs need not sign in."""
        networks = _networks("trusted", self.trusted)
        for network in networks:
            if any(network.overlaps(own) for own in _LOOPBACK if own.version == network.version):
                raise BadConfiguration(
                    f"trusted: {network} includes this machine; behind a proxy here, every"
                    " client would be trusted. Use a network such as 192.168.7.0/24."
                )
        return networks


# Cached, because every controller of a node parses the same networks. Parsing takes 0.1 ms of the
# 1.4 ms of a start.
@lru_cache
def _networks(key: str, texts: tuple[str, ...]) -> Networks:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise BadConfiguration(
            f"{key}: {error}; write addresses or networks such as 192.168.1.0/24."
        ) from None
