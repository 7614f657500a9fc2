-- What the controllers of all nodes keep, each row with the number of its controller first, as in
-- the file of a single node. Number 0 of a controller is nobody's here: nodes have rows of their own.

-- The nodes. Who lives counts its beat up; who is declared dead gets another epoch.
CREATE TABLE node (
    name     text NOT NULL PRIMARY KEY,
    epoch    bigint NOT NULL,
    is_alive boolean NOT NULL,
    beat     bigint NOT NULL DEFAULT 0,
    -- Where the other nodes reach it, and its session in this database.
    address  text NOT NULL DEFAULT '',
    session  integer NOT NULL DEFAULT 0,
    -- What it can carry in proportion to the others; 0 while it is being emptied.
    capacity integer NOT NULL DEFAULT 1
) WITH (fillfactor = 50);

-- The lanes of nodes: a batch is written only by whoever holds the epoch, and carries the number of
-- the batch before plus one. A node that has been declared dead finds another epoch and writes
-- nothing.
CREATE TABLE lane (
    node  text NOT NULL PRIMARY KEY,
    epoch bigint NOT NULL,
    batch bigint NOT NULL
) WITH (fillfactor = 10);

-- What all nodes must agree about, such as what tells the right key from a wrong one.
CREATE TABLE agreed (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- Numbers of controllers, and of other things that are stored as they are.
CREATE SEQUENCE controller_number AS integer;

-- The controllers of all nodes, and who has each of them.
CREATE TABLE controller (
    number integer NOT NULL DEFAULT nextval('controller_number') PRIMARY KEY,
    name   text NOT NULL UNIQUE,
    record text NOT NULL,
    node   text,
    -- The node that shall have it while it lives, where somebody has said so.
    wanted text
);
CREATE INDEX controller_node ON controller (node);

-- Jobs on many controllers; what is kept of one stands under its number, as for a controller.
CREATE TABLE job (
    number integer NOT NULL PRIMARY KEY,
    id     text NOT NULL,
    node   text NOT NULL
);

-- Snapshots by label: the part that holds what was stored of a controller.
CREATE TABLE snapshot (
    label      text NOT NULL,
    controller integer NOT NULL,
    at         double precision NOT NULL,
    part       integer NOT NULL,
    PRIMARY KEY (label, controller)
);

CREATE TABLE setting (
    controller integer NOT NULL,
    path       text NOT NULL,
    value      text NOT NULL,
    PRIMARY KEY (controller, path)
);

CREATE TABLE kept (
    controller integer NOT NULL,
    name       text NOT NULL,
    value      text NOT NULL,
    PRIMARY KEY (controller, name)
);

CREATE TABLE message (
    controller integer NOT NULL,
    number     bigint NOT NULL,
    value      text NOT NULL,
    PRIMARY KEY (controller, number)
);

CREATE TABLE blob (
    controller integer NOT NULL,
    name       text NOT NULL,
    data       bytea NOT NULL,
    PRIMARY KEY (controller, name)
);
