"""Every status that a request can be refused with, and when."""

#: Status -> when it is the answer. After any of them but 504, a 503 that says so, and a 409
#: for a condition that was waited for, nothing has changed.
REFUSALS: dict[int, str] = {
    400: "The command or its body is malformed, a value is out of range, a list has the wrong "
    "length, or a text is too long. Texts are never cut.",
    401: "Nobody is signed in, or the user name or password is wrong.",
    403: "The account may not do this, a page of another site has caused the request, or the Host "
    "header names another machine.",
    404: "There is no such path or command, or this version does not have it yet; `detail` names "
    "the versions that do.",
    405: "The path or command takes another method, named in `Allow`.",
    409: "The command contradicts the present state, such as enabling an entry that does not "
    "exist; or virtual time has moved as far as was allowed, and no condition came to hold.",
    410: "This version no longer has the command.",
    411: "A body was announced without its length.",
    413: "The body is too large: 1 MiB for lists and forms (8 KiB to sign in), 16 MiB for files.",
    414: "The path or the query is too long; a query may have 8 KiB.",
    415: "The body is of a kind that the command does not take.",
    421: "Several machines: the controller has just moved to another node; ask again.",
    422: "The work for this request takes more time or memory, or reads more values, than one "
    "request may; `detail` says what to ask for instead.",
    423: "The outputs are locked (`outblock`) and the command would switch one.",
    429: "Too many wrong passwords came from this address; `Retry-After` says when to try again.",
    431: "The headers are too large.",
    502: "A Modbus module has not taken what was to be written, or gives something else back.",
    503: "The controller is starting or in its bootloader, or too busy; several machines: whether "
    "the node still has it, or whether the change is stored, is not known, or the database, which "
    "alone knows what is asked for, is away. `Retry-After` says when to try again.",
    504: "Several machines: another node was asked and has not answered; whether it did it is not "
    "known. A fleet: a bulk command has ended before all controllers had answered.",
    507: "The change could not be written to the store, or to the database that nodes share.",
}
