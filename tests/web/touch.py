"""Fingers on the screen of a page: touches as a phone sends them, also several together."""

from playwright.sync_api import Page

Point = tuple[float, float]
#: Enough for the browser to see where a finger is going.
STEPS = 6


def drag_fingers(page: Page, *ways: tuple[Point, Point]) -> None:
    """Put a finger on the beginning of each way, move all to the ends, lift them."""
    console = page.context.new_cdp_session(page)

    def touch(kind: str, points: list[Point]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        console.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", [begin for begin, _ in ways])
    for step in range(1, STEPS + 1):
        share = step / STEPS
        touch(
            "touchMove",
            [(x + (to_x - x) * share, y + (to_y - y) * share) for (x, y), (to_x, to_y) in ways],
        )
    touch("touchEnd", [])
    console.detach()
