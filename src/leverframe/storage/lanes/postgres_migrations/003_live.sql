-- The live state of controllers: written when one is given up, or every so many seconds, and taken
-- by the node that has the controller next. It is not more than a convenience: where it is missing
-- or does not fit, a controller starts as after a power cut.
CREATE TABLE live (
    controller integer NOT NULL PRIMARY KEY REFERENCES controller (number) ON DELETE CASCADE,
    -- When it was so, by this database's clock: those of nodes are not compared.
    at         timestamptz NOT NULL,
    data       bytea NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 8160);
-- Written often, small and compressed already.
ALTER TABLE live ALTER COLUMN data SET STORAGE EXTERNAL;
