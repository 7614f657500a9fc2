"""What the database itself has seen: who wrote what, under which epoch, in which order.

Triggers note it in the transaction that writes, so that what is noted is what was stored.
"""

from typing import Any, NamedTuple

from msgspec import Struct, json
from msgspec.structs import replace

from leverframe.storage.audit import AuditEntry
from leverframe.storage.encryption import KeyFile, Sealer
from tests.fleet.faults.processes import FaultedFleet

#: The numbers that clients count up are one row of each controller.
_NUMBERS = "variables.dwords"
#: Settings, entries of the audit trail and messages, each with what its owner was at that moment.
TABLES = f"""
CREATE SCHEMA witness;
CREATE SEQUENCE witness.seen;
CREATE TABLE witness.batch (
    seen bigint DEFAULT nextval('witness.seen'), txid bigint, node text, epoch bigint, batch bigint
);
CREATE TABLE witness.row (
    seen bigint DEFAULT nextval('witness.seen'), txid bigint, kind text, name text, owner text,
    key text, value text, is_new boolean, at timestamptz DEFAULT clock_timestamp()
);
CREATE TABLE witness.placement (at timestamptz DEFAULT clock_timestamp(), name text, node text);
CREATE FUNCTION witness.placement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO witness.placement (name, node) VALUES (NEW.name, NEW.node);
    RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER UPDATE ON controller FOR EACH ROW
    WHEN (NEW.node IS DISTINCT FROM OLD.node) EXECUTE FUNCTION witness.placement();
CREATE FUNCTION witness.batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO witness.batch (txid, node, epoch, batch)
    VALUES (txid_current(), NEW.node, NEW.epoch, NEW.batch);
    RETURN NULL;
END $$;
CREATE FUNCTION witness.note(kind text, controller integer, key text, value text, is_new boolean)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO witness.row (txid, kind, name, owner, key, value, is_new)
    SELECT txid_current(), $1, name, node, $3, $4, $5 FROM public.controller WHERE number = $2;
$$;
CREATE FUNCTION witness.setting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM witness.note('number', NEW.controller, NEW.path, NEW.value, TG_OP = 'INSERT');
    RETURN NULL;
END $$;
CREATE FUNCTION witness.kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM witness.note('audit', NEW.controller, NEW.name, NEW.value, TG_OP = 'INSERT');
    RETURN NULL;
END $$;
CREATE FUNCTION witness.message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM witness.note('message', NEW.controller, NEW.number::text, NEW.value, true);
    RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER UPDATE ON lane FOR EACH ROW
    WHEN (NEW.batch <> OLD.batch) EXECUTE FUNCTION witness.batch();
CREATE TRIGGER witness AFTER INSERT OR UPDATE ON setting FOR EACH ROW
    WHEN (NEW.path = '{_NUMBERS}') EXECUTE FUNCTION witness.setting();
CREATE TRIGGER witness AFTER INSERT OR UPDATE ON kept FOR EACH ROW
    WHEN (NEW.name LIKE 'audit.%') EXECUTE FUNCTION witness.kept();
CREATE TRIGGER witness AFTER INSERT ON message FOR EACH ROW
    EXECUTE FUNCTION witness.message();
"""
_ROWS = """
SELECT row.seen, row.name, row.owner, row.key, row.value, row.is_new,
       batch.node, batch.epoch, batch.batch, extract(epoch FROM row.at)::float8
FROM witness.row LEFT JOIN witness.batch USING (txid) WHERE kind = %s ORDER BY row.seen
"""


class SeenRow(Struct, frozen=True):
    """A row that was stored, who had the controller then, and who wrote it."""

    seen: int
    name: str
    owner: str | None
    key: str
    value: str | None
    is_new: bool
    node: str | None
    epoch: int | None
    batch: int | None
    #: By the clock of the machine.
    at: float

    @property
    def numbers(self) -> list[int]:
        assert self.value is not None
        return json.decode(self.value, type=list[int])

    @property
    def audited_numbers(self) -> list[int] | None:
        """Return the new numbers by an entry of the audit trail, if it has them."""
        assert self.value is not None
        entry = json.decode(json.decode(self.value, type=str), type=AuditEntry)
        return next((change.new for change in entry.changes if change.path == _NUMBERS), None)

    @property
    def written_in(self) -> tuple[str, str | None, int | None]:
        """Return the controller and the batch."""
        return self.name, self.node, self.batch


def install(fleet: FaultedFleet) -> None:
    fleet.ask(TABLES)


def _open_messages(fleet: FaultedFleet, rows: list[SeenRow]) -> list[SeenRow]:
    """Open messages, which nodes seal with the key of the fleet."""
    key_file = KeyFile(next(iter(fleet.nodes.values())).data / "fleet.key")
    numbers = dict(fleet.ask("SELECT name, number FROM controller"))
    sealers = {name: Sealer(key_file, number) for name, number in numbers.items()}
    opened = []
    for row in rows:
        number = int(row.key)
        found = sealers[row.name].open_messages({number: json.decode(row.value or "null")})
        opened.append(replace(row, value=json.encode(found.get(number)).decode()))
    return opened


class StoredNumber(NamedTuple):
    number: int
    at: float


def list_moved(fleet: FaultedFleet, since: float) -> set[str]:
    """Return the controllers that a node has taken or given up since then."""
    query = "SELECT name FROM witness.placement WHERE at >= to_timestamp(%s)"
    return {name for (name,) in fleet.ask(query, since)}


class Witness:
    """All rows of the witness, read at the end."""

    def __init__(self, fleet: FaultedFleet) -> None:
        self.numbers = _rows(fleet, "number")
        self.audit = _rows(fleet, "audit")
        self.messages = _open_messages(fleet, _rows(fleet, "message"))
        self.batches: list[tuple[Any, ...]] = fleet.ask(
            "SELECT node, epoch, batch FROM witness.batch ORDER BY seen"
        )

    def list_strange_writes(self) -> list[str]:
        """List the rows that a node wrote without having the controller."""
        return [
            f"{row.node} (epoch {row.epoch}) wrote {row.key} of {row.name}, which {row.owner} had"
            for row in (*self.numbers, *self.audit, *self.messages)
            if row.node != row.owner
        ]

    def wrong_batches(self) -> list[str]:
        """List the batches of a node that do not follow the one before, or fall back in epoch."""
        wrong = []
        last: dict[str, tuple[int, int]] = {}
        for node, epoch, batch in self.batches:
            former = last.get(node, (0, 0))
            if epoch < former[0] or batch <= former[1]:
                wrong.append(f"{node}: epoch {epoch}, batch {batch} came after {former}")
            last[node] = epoch, batch
        return wrong

    def wrong_audit(self) -> list[str]:
        """List the entries whose number was there already, or is not above the one before."""
        wrong = []
        last: dict[str, str] = {}
        for row in self.audit:
            if not row.is_new or row.key <= last.get(row.name, ""):
                wrong.append(f"{row.name}: {row.key} after {last.get(row.name)}")
            last[row.name] = row.key
        return wrong

    def unlike_audit(self) -> list[str]:
        """List the numbers that are not what the newest entry of the same batch says."""
        newest = {
            row.written_in: numbers
            for row in self.audit
            if (numbers := row.audited_numbers) is not None
        }
        return [
            f"{row.name}: {row.numbers} were stored where {said} were audited"
            for row in self.numbers
            if (said := newest.get(row.written_in, row.numbers)) != row.numbers
        ]

    def values_in_audit(self, place: int) -> dict[str, set[int]]:
        """Return the values that one number of each controller was ever set to.

        Of several changes in one batch the settings show the last one only.
        """
        found: dict[str, set[int]] = {}
        for row in self.audit:
            if (numbers := row.audited_numbers) is not None:
                found.setdefault(row.name, set()).add(numbers[place])
        return found

    def values_in_settings(self, place: int) -> dict[str, list[StoredNumber]]:
        """Return the values that one number of each controller has had, in order."""
        found: dict[str, list[StoredNumber]] = {}
        for row in self.numbers:
            values = found.setdefault(row.name, [])
            if not values or values[-1].number != row.numbers[place]:
                values.append(StoredNumber(row.numbers[place], row.at))
        return found


def _rows(fleet: FaultedFleet, kind: str) -> list[SeenRow]:
    return [SeenRow(*row) for row in fleet.ask(_ROWS, kind)]
