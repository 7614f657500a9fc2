-- What several nodes do together: a node that stays empty until somebody says otherwise, and jobs
-- that another node goes on with.

-- A drained node has the capacity 0, also in its next lives; `carries` is what it has otherwise.
ALTER TABLE node ADD COLUMN is_drained boolean NOT NULL DEFAULT false;
ALTER TABLE node ADD COLUMN carries integer NOT NULL DEFAULT 1;

-- The life of the node that goes on with a job: whoever lives may take over the jobs of one that is
-- over. 0 is any life, as programs write it that do not know of this.
ALTER TABLE job ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

-- However many nodes are asked for a job, its id is that of one.
CREATE UNIQUE INDEX job_id ON job (id);
