-- What the controllers of a node keep, each row with the number of its controller first; the rest is
-- as in the store of a single one. Number 0 is the node itself.

CREATE TABLE setting (
    controller INTEGER NOT NULL,
    path       TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (controller, path)
) WITHOUT ROWID;

CREATE TABLE kept (
    controller INTEGER NOT NULL,
    name       TEXT NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (controller, name)
) WITHOUT ROWID;

CREATE TABLE message (
    controller INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    value      TEXT NOT NULL,
    PRIMARY KEY (controller, number)
) WITHOUT ROWID;

-- With a rowid, because large rows would bloat the inner pages of a table without one.
CREATE TABLE blob (
    controller INTEGER NOT NULL,
    name       TEXT NOT NULL,
    data       BLOB NOT NULL,
    PRIMARY KEY (controller, name)
);
