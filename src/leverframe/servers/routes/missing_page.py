"""The page for an unknown address."""

from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.routes.page_words import words_beside
from leverframe.servers.routes.sentence_page import PageSentence, sentence_page

MISSING_WORDS = words_beside(__file__, dict[str, PageSentence])


def missing_page(request: Request) -> Reply:
    """Answer without the path: a query that was encoded by mistake is a part of it."""
    return sentence_page(request, 404, MISSING_WORDS, "/")
