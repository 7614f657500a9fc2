-- Tenants, and the accounts of people at the nodes. A controller without a tenant is the operator's.
CREATE TABLE tenant (
    name   text NOT NULL PRIMARY KEY,
    record text NOT NULL
);

CREATE TABLE account (
    name   text NOT NULL PRIMARY KEY,
    tenant text REFERENCES tenant,
    record text NOT NULL
);

-- Not in the record: nodes of an earlier version write that anew, and leave this as it is.
ALTER TABLE controller ADD COLUMN tenant text REFERENCES tenant;
CREATE INDEX controller_tenant ON controller (tenant);
