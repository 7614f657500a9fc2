"""Documents of the API that are the same for all controllers of a version, made once for each."""

from leverframe.profile import Profile
from leverframe.servers.routes.compressed import CompressedReply


class VersionDocuments:
    def __init__(self) -> None:
        self._by_version: dict[Profile, dict[str, CompressedReply]] = {}

    def of(self, profile: Profile) -> dict[str, CompressedReply]:
        """Return the documents of a version by path, to which whoever makes one adds it."""
        return self._by_version.setdefault(profile, {})
