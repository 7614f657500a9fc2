"""The count of what clients hold: shares per source, and a part that no client reaches."""

import errno
import logging

import pytest

from leverframe.server.fair_shares import (
    FULL,
    MAX_CLIENTS,
    MAX_TLS,
    RESERVED,
    SHARE,
    TLS,
    DescriptorBudget,
    lacks_descriptors,
)
from tests.cases import for_each


def take_all(budget: DescriptorBudget, *peers: str) -> int:
    """Connections until one is refused, each from the next of the peers."""
    taken = 0
    while budget.lease("http", peers[taken % len(peers)], 10):
        taken += 1
    return taken


def test_two_addresses_do_not_fill_the_pool() -> None:
    budget = DescriptorBudget()
    assert budget.clients.limit == MAX_CLIENTS
    assert take_all(budget, "192.0.2.1") > MAX_CLIENTS // 2
    take_all(budget, "192.0.2.2")
    assert take_all(budget, "192.0.2.3") > 16


def test_network_of_64_bits_is_one_source() -> None:
    budget = DescriptorBudget()
    one_owner = [f"2001:db8:0:1::{number:x}" for number in range(1, 100)]
    assert take_all(budget, *one_owner) == take_all(DescriptorBudget(), "192.0.2.1")
    assert budget.lease("http", "2001:db8:0:2::1", 10)


@pytest.mark.parametrize(("descriptors", "clients"), [(1024, 768), (256, 192), (10**6, 2048)])
def test_count_follows_from_the_limit_of_open_files(descriptors: int, clients: int) -> None:
    assert DescriptorBudget(descriptors).clients.limit == clients


def test_descriptor_close_to_the_end_is_given_back_whatever_the_count_says() -> None:
    budget = DescriptorBudget(1024)
    assert budget.lease("modbus", "192.0.2.1", 895)
    assert budget.lease("modbus", "192.0.2.1", 896) is None
    assert budget.refused == {("modbus", FULL): 1}


def test_tls_has_shares_of_its_own_because_it_takes_more_memory() -> None:
    budget = DescriptorBudget()
    leases = [budget.lease("http", "192.0.2.1", 10) for _ in range(MAX_TLS)]
    secured = [lease.begin_tls() for lease in leases if lease]
    assert MAX_TLS // 2 < sum(secured) == budget.tls.used < MAX_TLS
    assert budget.refused == {(TLS, SHARE): MAX_TLS - sum(secured)}
    other = budget.lease("http", "192.0.2.2", 10)
    assert other
    assert other.begin_tls()
    for lease in (other, *leases):
        assert lease
        lease.end()
    assert budget.tls.used == budget.clients.used == 0


def test_lease_ends_once() -> None:
    budget = DescriptorBudget()
    first, second = (budget.lease("http", "192.0.2.1", 10) for _ in range(2))
    assert first
    assert second
    first.end()
    first.end()
    assert budget.clients.used == 1


def test_refusals_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    budget = DescriptorBudget(MAX_CLIENTS + RESERVED)
    for _ in range(MAX_CLIENTS):
        budget.lease("http", "192.0.2.1", 10)
    assert budget.refused["http", SHARE] == MAX_CLIENTS - budget.clients.used > 100
    (report,) = caplog.messages
    assert "192.0.2.1" in report
    for number in range(5 * MAX_CLIENTS):
        budget.lease("http", f"198.51.{number >> 8}.{number & 255}", 10)
    assert budget.clients.used == MAX_CLIENTS
    assert budget.refused["http", FULL] == 5 * MAX_CLIENTS - budget.refused["http", SHARE]


def chain(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@for_each(
    ("error", "expected"),
    [
        (OSError(errno.EMFILE, "Too many open files"), True),
        (OSError(errno.ENFILE, "Too many open files in system"), True),
        (ImportError("libjpeg.so: cannot open shared object file: Too many open files"), True),
        (chain(ValueError("no zone"), OSError(errno.EMFILE, "Too many open files")), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (ImportError("No module named 'x'"), False),
        (ValueError("Too many open files"), False),
    ],
)
def test_lack_of_descriptors_is_recognised_however_it_is_reported(
    error: Exception, expected: bool
) -> None:
    assert lacks_descriptors(error) is expected
