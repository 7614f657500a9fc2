-- The history of controllers, as in the file of a single node: packed chunks of values, what explains
-- them, and entries of the journal. Chunks are written once; small ones are merged, old ones removed.

CREATE TABLE chunk (
    controller integer NOT NULL,
    id         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    tier       smallint NOT NULL,
    label      text NOT NULL,
    start      double precision NOT NULL,
    "end"      double precision NOT NULL,
    points     integer NOT NULL,
    cost       integer NOT NULL,
    data       bytea NOT NULL,
    -- The only index: a controller has some thousand chunks, which are looked through for the rest.
    PRIMARY KEY (controller, tier, label, start, id)
);
-- They are compressed already.
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- Up to when a controller (by its number) is recorded, and when it was stopped in order.
CREATE TABLE mark (
    id    integer NOT NULL PRIMARY KEY,
    at    double precision NOT NULL,
    ended double precision
) WITH (fillfactor = 50);

CREATE TABLE told (
    controller integer NOT NULL,
    number     bigint NOT NULL,
    text       text NOT NULL,
    PRIMARY KEY (controller, number)
);

CREATE TABLE entry (
    controller integer NOT NULL,
    number     bigint NOT NULL,
    time       double precision NOT NULL,
    cause      text NOT NULL,
    which      text,
    data       bytea NOT NULL,
    PRIMARY KEY (controller, number)
);
