"""Every status that a request can be refused with, and when."""

#: Status -> when it is the answer. After any of them but 504, a 503 that says so, and a 409
#: for a condition that was waited for, nothing has changed.
REFUSALS: dict[int, str] = {
    400: "The command or its body is malformed, a value is out of range, a list has the wrong "
    "length, or a text is too long. Texts are never cut.",
    401: "No user is signed in, or the user name or password is wrong.",
    403: "The account is not allowed to do this, a page of another site caused the request, "
    "or the Host header names another machine.",
    404: "There is no such path or command, or this version does not have it yet; `detail` names "
    "the versions that do.",
    405: "The path or command requires another method, named in `Allow`.",
    409: "The command contradicts the current state, for example enabling an entry that does "
    "not exist; or virtual time reached its limit before a condition was met.",
    410: "This version no longer has the command.",
    411: "The request has a body but does not state its length.",
    413: "The body is too large: 1 MiB for lists and forms (8 KiB to sign in), 16 MiB for files.",
    414: "The path or the query is too long; a query may have 8 KiB.",
    415: "The command does not accept this type of body.",
    421: "Several machines: the controller has just moved to another node; repeat the request.",
    422: "The request needs more time or memory, or reads more values, than one request may; "
    "`detail` says what to request instead.",
    423: "The outputs are locked (`outblock`) and the command would switch one.",
    429: "Too many wrong passwords came from this address; `Retry-After` says when to retry.",
    431: "The headers are too large.",
    502: "A Modbus module did not accept the value, or a different value was read back.",
    503: "The controller is starting, in its bootloader or too busy. Several machines: it is "
    "not known whether the node still has the controller or whether the change is "
    "stored; or the database is unavailable and only it has the answer. `Retry-After` "
    "says when to retry.",
    504: "Several machines: another node received the request and did not answer; it is not "
    "known whether it was carried out. Fleet: a bulk command ended before all "
    "controllers had answered.",
    507: "The change could not be written to the store, or to the database that nodes share.",
}
