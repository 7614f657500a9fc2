"""The limit of open files that the system sets: each connection is one of them."""

import logging

from leverframe.servers.descriptors import MAX_CLIENTS, RESERVED, DescriptorBudget

log = logging.getLogger(__name__)

ENOUGH = MAX_CLIENTS + RESERVED


def descriptor_budget() -> DescriptorBudget:
    """Raise the limit as far as it is useful and allowed; tell if it stays too low for all."""
    import resource  # not on Windows, where twins need no such limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    budget = DescriptorBudget(ENOUGH if soft == resource.RLIM_INFINITY else soft)
    if budget.clients.limit < MAX_CLIENTS:
        log.warning(
            "Only %d files can be open at a time, so %d clients can be connected instead of %d;"
            " raise the limit (ulimit -n, or LimitNOFILE of the systemd unit) to %d.",
            *(soft, budget.clients.limit, MAX_CLIENTS, ENOUGH),
        )
    return budget
