"""Files as replies: status files, the uploaded web site, and the picture."""

import asyncio
import logging
from collections.abc import Callable
from zlib import crc32

from msgspec import Struct

from leverframe.core.errors import BadUpload
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.host.controller import Controller
from leverframe.interface import status_files
from leverframe.interface.status_files.keys import View
from leverframe.interface.status_files.markers import with_values
from leverframe.interface.status_files.segments import Document
from leverframe.interface.uploads import FRONT_PAGE, ending_of
from leverframe.interface.uploads.picture import content_type
from leverframe.server.http.messages import Reply
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes.headers import UPLOADED_HEADERS
from leverframe.storage.sqlite_file import StoreDamaged
from leverframe.storage.store import Store, StoreUnavailable

# The status files as replies: their segments are built when something that they show has changed.


class BuiltFile(Struct):
    """A file that was requested, and its last reply."""

    document: Document[View]
    reply: Reply


class StatusFiles:
    def __init__(self, controller: Controller, name: str, mac: str) -> None:
        self._controller = controller
        self._name = name
        self._mac = mac
        #: Files by path.
        self._built: dict[str, BuiltFile] = {}
        controller.profile_watchers.append(self._built.clear)

    def reply(self, path: str) -> Reply:
        built = self._built.get(path) or self._begin(path)
        controller, document = self._controller, built.document
        if document.refresh(controller.engine, controller.clock.read(), self.view):
            content = document.content()
            built.reply = Reply(200, status_files.content_type(path), content)
        return built.reply

    def _begin(self, path: str) -> BuiltFile:
        profile = self._controller.profile
        layout = status_files.layout_of(path, profile)
        if layout is None:
            raise NoSuchPath(f"{profile} has no {path}.")
        built = self._built[path] = BuiltFile(Document(layout), Reply(200, "", b""))
        return built

    def view(self) -> View:
        """Return the current state in the form from which files are built."""
        controller = self._controller
        name, at = controller.name_or(self._name), controller.clock.read()
        return View(controller.engine, name, self._mac, at)


# Uploaded files as replies: the web site and the picture.
#
# Both are read from the store when they are first requested, off the event loop, and kept until
# they change. A site is served with stricter rules for browsers than the built-in pages: no script
# or style inside a page, nothing from elsewhere, and no origin. Paths of the controller itself come
# before those of the site, so that no upload can hide a command or a status file. `/?safe` opens
# the built-in pages.

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
        """Fill a page of the site with the current values; None if the site has no such page."""
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
        """Return the address of the picture; another picture has another address."""
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
