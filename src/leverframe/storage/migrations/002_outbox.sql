-- The outbox: messages that wait to be sent, and what became of the last ones, as JSON text.

CREATE TABLE message (
    number INTEGER PRIMARY KEY,
    value  TEXT NOT NULL
);
