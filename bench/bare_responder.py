"""The baseline of the HTTP measurements: the parser and one write per request.

It has no limits, no timeouts, no parsing of headers and no handler. The additional time that
Leverframe needs is the cost of its connection layer and of everything behind it. This is not a
usable server.

    python bench/bare_responder.py --port 8090 [--body-file reply.json] [--reply /path=file ...]
"""

import argparse
import asyncio
from functools import partial
from pathlib import Path

import httptools

DEFAULT_BODY = b"<response>\n<out>000000</out>\n<pwm>0</pwm>\n<ev>0</ev>\n</response>\n"


class BareResponder(asyncio.Protocol):
    """Answers the targets in `replies` with their bytes, and other targets with the default."""

    transport: asyncio.Transport

    def __init__(self, replies: dict[bytes, bytes], default: bytes) -> None:
        self.replies = replies
        self.default = default
        self.target = b""
        self.parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, target: bytes) -> None:
        self.target = target

    def on_message_complete(self) -> None:
        self.transport.write(self.replies.get(self.target, self.default))


def reply_bytes(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(port: int, replies: dict[bytes, bytes], default: bytes) -> None:
    responder = partial(BareResponder, replies, default)
    server = await asyncio.get_running_loop().create_server(responder, "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--port", type=int, default=0, help="0 takes a free one and prints it")
    options.add_argument("--body-file", type=Path, help="the body for every target not named")
    options.add_argument("--reply", metavar="TARGET=FILE", action="append", default=[])
    options.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    chosen = options.parse_args()
    replies = {}
    for pair in chosen.reply:
        target, _, file = pair.rpartition("=")
        replies[target.encode()] = reply_bytes(Path(file).read_bytes())
    body = chosen.body_file.read_bytes() if chosen.body_file else DEFAULT_BODY
    program = serve(chosen.port, replies, reply_bytes(body))
    if chosen.loop == "uvloop":
        import uvloop

        uvloop.run(program)
    else:
        asyncio.run(program)


if __name__ == "__main__":
    main()
