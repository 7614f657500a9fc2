"""Messages that leave the controller: an outbox that survives, and the channels it sends through.

The engine asks for a message with a `Notify` effect; its texts are rendered in that instant. The
outbox turns it into messages, stores them, and one queue per channel delivers them in order, again
and again, until they are sent, refused for good or too old.

To add a channel, write a class with the six members of `Channel` and hand it to `Outbox.add`
under the name that `Notify.channel` has (or name and slot, like `http1`).
"""
