-- The batches that were written last, each as it came: rows by the number of their controller, as JSON
-- text. From here they go into the tables together.

CREATE TABLE recent (
    number INTEGER PRIMARY KEY,
    parts  TEXT NOT NULL
);
