"""Files as replies: status files, the uploaded web site, and the picture."""

import asyncio
import logging
from collections.abc import Callable
from zlib import crc32

from msgspec import Struct

from leverframe.core.engine.engine import Engine
from leverframe.core.errors import BadUpload
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.host.controller import Controller
from leverframe.interface import status_files
from leverframe.interface.status_files.keys import View
from leverframe.interface.status_files.markers import with_values
from leverframe.interface.uploads import FRONT_PAGE, ending_of
from leverframe.interface.uploads.picture import content_type
from leverframe.server.http.messages import Reply
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes.headers import UPLOADED_HEADERS
from leverframe.storage.sqlite_file import StoreDamaged
from leverframe.storage.store import Store, StoreUnavailable

# The status files as replies, built when something they could show has changed, not per request.
#
# Building one takes 15 to 80 us; clients that poll a state that has not changed get it in 2.


class BuiltFile(Struct, frozen=True):
    """A reply and what it was built from."""

    engine: Engine
    version: int
    second: int
    reply: Reply


class StatusFiles:
    def __init__(self, controller: Controller, name: str, mac: str) -> None:
        self._controller = controller
        self._name = name
        self._mac = mac
        #: The last reply of each path.
        self._built: dict[str, BuiltFile] = {}

    def reply(self, path: str) -> Reply:
        engine = self._controller.engine
        version, second = engine.machine.version, int(self._controller.clock.wall())
        built = self._built.get(path)
        if (
            built is not None
            and built.engine is engine
            and built.version == version
            and built.second == second
        ):
            return built.reply
        body = status_files.build(path, self.view())
        if body is None:
            raise NoSuchPath(f"{self._controller.profile} has no {path}.")
        reply = Reply(200, status_files.content_type(path), body)
        self._built[path] = BuiltFile(engine, version, second, reply)
        return reply

    def view(self) -> status_files.View:
        """Return the present state in the form that files are built from."""
        engine, at = self._controller.engine, self._controller.clock.read()
        return status_files.View(engine, self._controller.name_or(self._name), self._mac, at)


# Uploaded files as replies: the web site and the picture.
#
# Both are read from the store when they are first asked for, beside the event loop, and kept
# until they change. A site is served with stricter rules for browsers than the built-in pages: no
# script or style inside a page, nothing from elsewhere, and no origin. Paths of the controller
# itself come before those of the site, so that no upload can hide a command or a status file;
# `/?safe` leads to the built-in pages.

log = logging.getLogger(__name__)
_warn = LogThrottle(log).warning

PICTURE_PATH = "/picture"
SITE, PICTURE = "site", "picture"
_KINDS = {
    **{"html": "text/html", "htm": "text/html", "css": "text/css", "txt": "text/plain"},
    **{"js": "text/javascript", "mjs": "text/javascript"},
    **{"json": "application/json", "xml": "text/xml", "svg": "image/svg+xml"},
    **{"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif"},
    **{"webp": "image/webp", "ico": "image/x-icon", "woff2": "font/woff2", "woff": "font/woff"},
}
_OTHER_KIND = "application/octet-stream"


class Panel(Struct, frozen=True):
    picture: str | None


class Uploads:
    def __init__(self, store: Store, view: Callable[[], View]) -> None:
        self._store = store
        self._view = view
        self._site: dict[str, bytes] | None = None
        self._picture: tuple[Reply | None] | None = None

    def forget(self, name: str) -> None:
        """Forget the cached content of an upload that is new or deleted."""
        if name == SITE:
            self._site = None
        elif name == PICTURE:
            self._picture = None

    async def page(self, path: str) -> Reply | None:
        """Fill a page of the site with the present values; None if the site has none there."""
        name = path[1:] if not path.endswith("/") else f"{path[1:]}{FRONT_PAGE}"
        page = (await self._pages()).get(name)
        if page is None:
            return None
        kind = _KINDS.get(ending_of(name), _OTHER_KIND)
        return Reply(200, kind, with_values(page, name, self._view()), UPLOADED_HEADERS)

    async def picture(self) -> Reply:
        """Send the picture."""
        if (picture := await self._read_picture()) is None:
            raise NoSuchPath("No picture has been uploaded.")
        return picture

    async def _read_picture(self) -> Reply | None:
        if (kept := self._picture) is None:
            try:
                self._picture = kept = (_picture(await self._blob(PICTURE)),)
            except StoreUnavailable:
                return None
        return kept[0]

    async def panel(self) -> Panel:
        """Return where the picture is; another picture has another address."""
        picture = await self._read_picture()
        return Panel(None if picture is None else f"{PICTURE_PATH}?{crc32(picture.body):08x}")

    async def _pages(self) -> dict[str, bytes]:
        if (kept := self._site) is None:
            try:
                archive = await self._blob(SITE)
            except StoreUnavailable:
                return {}
            self._site = kept = {} if archive is None else await asyncio.to_thread(_site, archive)
        return kept

    async def _blob(self, name: str) -> bytes | None:
        """Read an upload; the pages keep working without an upload that a damaged store has lost.

        An upload that is temporarily unreadable is read again at the next request.
        """
        try:
            return await self._store.blob(name)
        except StoreDamaged as error:
            log.error("ignoring the stored %s: %s", name, error)
            return None
        except StoreUnavailable as error:
            _warn(name, "upload", "cannot read the stored %s: %s", name, error)
            raise


def load() -> None:
    """Load the unpacker of sites in a thread before the first request for a page."""
    import leverframe.interface.uploads.site  # noqa: F401


def _site(archive: bytes) -> dict[str, bytes]:
    from leverframe.interface.uploads.site import unpack_site

    try:
        return unpack_site(archive)
    except BadUpload as error:
        log.warning("ignoring the stored web site: %s", error)
        return {}


def _picture(picture: bytes | None) -> Reply | None:
    kind = None if picture is None else content_type(picture)
    if picture is None or kind is None:
        return None
    return Reply(200, kind, picture, UPLOADED_HEADERS)
