"""Outgoing messages: an outbox that survives restarts, and the channels through which it sends.

The engine requests a message with a `Notify` effect; its texts are rendered in that instant. The
outbox turns it into messages and stores them. One queue per channel delivers them in order, and
retries each message until it is sent, permanently refused or too old.

To add a channel, write a class with the six members of `Channel` and pass it to `Outbox.add` under
the name that `Notify.channel` has (or name and slot, like `http1`).
"""
