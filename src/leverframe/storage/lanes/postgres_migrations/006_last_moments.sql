-- What the history of a controller had not recorded when it stopped, as it came: to put it down takes
-- a moment, to record it would hold up the end of a node with thousands. Who opens the history next
-- records it.
CREATE TABLE last_moments (
    controller integer NOT NULL REFERENCES controller (number) ON DELETE CASCADE,
    -- Runs come in this order, whatever the clocks of nodes say.
    id         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    ended      double precision NOT NULL,
    data       bytea NOT NULL,
    -- Sent again by who does not know whether it was written, it is there once.
    PRIMARY KEY (controller, ended)
) WITH (toast_tuple_target = 8160);
-- Small and compressed already.
ALTER TABLE last_moments ALTER COLUMN data SET STORAGE EXTERNAL;
