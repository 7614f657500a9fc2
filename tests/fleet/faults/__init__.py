"""Faults of nodes and of their database while clients count: what was answered, and what is stored.

Real nodes as processes on a real PostgreSQL. Clients count numbers up in every controller, by
whichever node, and note the answers: done, refused, or not known. Triggers in the database
note who wrote what under which epoch. Afterwards the two are compared.

The suite runs a short form. For the table of `docs/testing.md`:

    python -m tests.fleet.faults --fault kill --rounds 50
    python -m tests.fleet.faults --fault all
"""
