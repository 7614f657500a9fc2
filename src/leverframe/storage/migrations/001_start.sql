-- What a controller keeps: settings by leaf path, remembered machine state by name, both as JSON
-- text; uploaded files as they came; and facts about the store itself.

CREATE TABLE setting (
    path  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE kept (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- With a rowid, because large rows would bloat the inner pages of a table without one.
CREATE TABLE blob (
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
);

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
