"""Controllers that every user of the machine may use, and the administrators that close them.

On a loopback address a new controller requires no sign-in. The first account or tenant of the node
changes that, since other users then share the machine or come by a proxy. So open controllers get
an administrator then. Controllers of one tenant get the same password, which the answer shows once.
A controller that has a password already keeps it.
"""

from base64 import b64encode
from collections.abc import Sequence

from msgspec.structs import replace

from leverframe.commands.table.rights import Account
from leverframe.engine.settings import AccessSettings
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult, report_of, submit_all
from leverframe.fleet.member import Member
from leverframe.process.administrator import random_password
from leverframe.servers.accounts.passwords import Passwords

NEW_ADMINISTRATOR = "It requires sign-in now, and has an administrator."
PASSWORD_STAYS = "It requires sign-in now; its passwords are as they were."


def is_open(member: Member) -> bool:
    """Return whether a controller of a node on loopback requires no sign-in."""
    return not member.controller.pending.access.required


async def close_open(
    members: Sequence[Member], passwords: Passwords, source: str, requester: Account
) -> BulkReport:
    """Make open controllers require sign-in; return the results of all."""
    results = {member.name: MemberResult(member.name, DONE) for member in members}
    by_tenant: dict[str, list[Member]] = {}
    for member in members:
        if is_open(member):
            by_tenant.setdefault(member.record.tenant, []).append(member)
    for some in by_tenant.values():
        for one in await _close_some(some, passwords, source, requester):
            results[one.name] = one
    return report_of(list(results.values()))


async def _close_some(
    members: Sequence[Member], passwords: Passwords, source: str, requester: Account
) -> list[MemberResult]:
    """Close controllers of one tenant; those without a password get the same one."""
    new = {member.name for member in members if not _access(member).admin.password}
    password = random_password()
    hashes = {password: await passwords.hash(password)} if new else {}

    def command(member: Member) -> str:
        return _command_to_require_sign_in(member, password if member.name in new else "")

    report = await submit_all(members, command, source, requester, hashes)
    return [
        one
        if one.status != DONE
        else replace(one, detail=NEW_ADMINISTRATOR, password=password)
        if one.name in new
        else replace(one, detail=PASSWORD_STAYS)
        for one in report.results
    ]


def _access(member: Member) -> AccessSettings:
    return member.controller.pending.access


def _command_to_require_sign_in(member: Member, password: str) -> str:
    """Return the command; an empty password leaves the present one."""
    access = _access(member)
    texts = (access.admin.name, password, access.user.name, "")
    packed = "*".join(b64encode(text.encode()).decode() for text in texts)
    return f"stm.cgi?auth=1{int(access.updates_allowed)}{packed}"
