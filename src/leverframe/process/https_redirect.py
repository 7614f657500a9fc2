"""The plain port beside HTTPS: whoever asks there is led to HTTPS, and gets nothing else."""

from functools import partial

from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.hardware.troubles import Troubles
from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.http.server import HttpServer
from leverframe.servers.http_faults import PortFaults
from leverframe.servers.routes.router import Reach
from leverframe.servers.routes.sign_in import HTTPS_PORT, redirect_to_https

PART = "HTTPS redirect"
HTTP_PORT = 80


def redirect_port(config: Config, https_port: int) -> int | None:
    """Return the configured port; by default a pair of the usual ports, as real units have."""
    if config.redirect_port is not None:
        return config.redirect_port
    return HTTP_PORT if https_port == HTTPS_PORT else None


class HttpsRedirect(PortFaults):
    def __init__(self, server: HttpServer) -> None:
        super().__init__(server)
        self._server = server

    async def close(self) -> None:
        await self._server.stop(grace_s=0)


async def open_redirect(
    controller: Controller,
    config: Config,
    reach: Reach,
    descriptors: DescriptorBudget,
    https_port: int,
) -> HttpsRedirect | None:
    """Open the plain port, if there is to be one; without it the controller works all the same."""
    port = redirect_port(config, https_port)
    if port is None:
        return None
    to_https = partial(redirect_to_https, reach.names, port=https_port)
    server = HttpServer(to_https, admission=to_https, descriptors=descriptors)
    try:
        await server.start(config.host, port)
    except OSError as error:
        Troubles(controller.troubles).note(
            PART,
            f"port {port} cannot be used, so nobody is led from there to HTTPS"
            f" ({error.strerror or error}); free it, or choose another with --redirect-port.",
        )
        return None
    controller.ports["redirect"] = lambda: server.port
    redirect = HttpsRedirect(server)
    if controller.faults is not None:
        controller.faults.join(redirect)
    return redirect
