"""JSON schemas of what the controller answers, for the OpenAPI document.

Those of the settings and of the explanations are made from the classes themselves.
"""

from typing import Any

import msgspec

from leverframe.commands.table.bodies import FormBody
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.engine import pid
from leverframe.engine.labels import LABELS, LIGHTING, OUTPUTS, PWMS, READINGS
from leverframe.engine.rule_explanation import RuleExplanation
from leverframe.engine.rule_report import RuleReport
from leverframe.engine.rule_trial import RuleTrial
from leverframe.engine.schedule import ScheduleExplanation
from leverframe.engine.settings import SECRETS, Settings
from leverframe.engine.watchdog import WatchdogExplanation
from leverframe.profile import Profile

Json = dict[str, Any]

_PREFIX = "#/components/schemas/"
_CLASSES = (
    Settings,
    RuleExplanation,
    RuleReport,
    RuleTrial,
    ScheduleExplanation,
    WatchdogExplanation,
    pid.Explanation,
)


def api_schemas() -> dict[str, Json]:
    """Every schema by its name in the document."""
    return {
        "Reply": _reply(),
        "Problem": _problem(),
        "JsonStatus": _values_by_key({"type": ["string", "array"]}),
        "XmlStatus": {"type": "object", "additionalProperties": {"type": "string"}},
        "AnyObject": {"type": "object"},
        "State": _state(),
        "CurrentAccount": _object(
            name={"type": "string"},
            role={"type": "string", "enum": [ADMIN, CONTROL]},
            read_only={"type": "boolean"},
            names_only={"type": "boolean"},
            language={"type": "string"},
            refresh={"type": "integer"},
        ),
        "Start": _start(),
        "Panel": _object(picture={"type": ["string", "null"]}),
        "Labels": _values_by_key(_object(name={"type": "string"}, unit={"type": "string"})),
        "Modules": _values_by_key(
            {"type": "array", "items": _object(name={"type": "string"}, unit={"type": "string"})}
        ),
        "Rules": {"type": "array", "items": _of(RuleReport)},
        "Commands": {"type": "array", "items": _command()},
        "Log": {"type": "array", "items": _log_entry()},
        "ReadingCodes": {"type": "object", "additionalProperties": {"type": "string"}},
        "Audit": {"type": "array", "items": _audit_entry()},
        "Firmware": _firmware(),
        "Modem": _modem(),
        "RestoreReport": {"type": "array", "items": _not_carried_over()},
        "Outbox": _outbox(),
        "Bench": _bench(),
        "Health": _health(),
        "Metrics": {"type": "string"},
        "History": _history(),
        "Table": {"type": "string"},
        **_class_schemas(),
    }


def form_schema(body: FormBody, profile: Profile) -> Json:
    """The fields of a form; none of them must be there."""
    return {
        "type": "object",
        "properties": {name: param.schema(profile) for name, param in body.fields.items()},
        "additionalProperties": False,
    }


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _values_by_key(value: Json) -> Json:
    return {"type": "object", "additionalProperties": value}


def _reply() -> Json:
    return _object(
        out={"type": "string", "pattern": "^[01]{6}$", "description": "OUT0 to OUT5."},
        pwm={"type": "string", "description": "PWM states; bit 0 is PWM0."},
        ev={"type": "string", "description": "Event variables; bit 0 is EVENT1."},
    ) | {"xml": {"name": "response"}}


def _problem() -> Json:
    problem = _object(
        type={"type": "string", "format": "uri-reference"},
        title={"type": "string"},
        status={"type": "integer"},
        detail={"type": "string", "description": "What was wrong, in plain words."},
    )
    problem["properties"] |= {
        "command": {"type": "string", "description": "The command it is about."},
        "field": {"type": "string", "description": "The field it is about."},
        "value": {"type": "string", "description": "What was sent."},
        "allowed": {"type": "string", "description": "What may be sent."},
    }
    return problem


def _state() -> Json:
    reading: Json = {"type": ["number", "null"]}
    level: Json = {"type": ["integer", "null"]}
    state = _object(
        **{label: reading if label in READINGS else level for label in LABELS},
        **{f"{label}.duty": reading for label in PWMS},
        profile=_object(hw={"type": "string"}, sw={"type": "string"}),
        time={"type": "number", "description": "Seconds since 1970."},
        uptime={"type": "number", "description": "Seconds since the start."},
        restart={"type": "integer", "enum": [0, 1]},
        settings_revision={
            "type": "integer",
            "description": "How often the settings have changed since the start.",
        },
        virtual_time={"type": "boolean"},
        rules={"type": "array", "items": _of(RuleExplanation)},
        schedule={"type": "array", "items": _of(ScheduleExplanation)},
        watchdog={"type": "array", "items": _of(WatchdogExplanation)},
        pid=_of(pid.Explanation),
        barcode={"type": ["string", "null"], "description": "What was scanned last."},
        lighting=_object(**dict.fromkeys(LIGHTING, reading))
        | {"description": "What the lighting module reports."},
        troubles=_values_by_key({"type": "string"}),
        modem=_modem(),
    )
    state["properties"] |= {
        "absent_since": _values_by_key({"type": ["number", "null"]}),
        "returns_in": {
            "type": "object",
            "properties": {label: {"type": "number"} for label in OUTPUTS},
            "description": "Seconds until an output goes off by its return time.",
        },
    }
    return state


def _history() -> Json:
    second: Json = {"type": "number", "description": "Seconds since 1970."}
    numbers: Json = {"type": "array", "items": {"type": ["number", "null"]}}
    times: Json = {"type": "array", "items": {"type": "number"}}
    as_it_came = _object(times=times, values=numbers)
    reduced = _object(**dict.fromkeys(("min", "mean", "max"), numbers))
    return _object(
        **{"from": second, "to": second, "now": second},
        since={"type": ["number", "null"], "description": "Since when anything is known."},
        step={"type": "integer", "description": "Width of an interval in seconds; 0 is raw."},
        times=times | {"description": "Where the intervals begin; empty for raw values."},
        series=_values_by_key({"anyOf": [as_it_came, reduced]}),
    )


def _outbox() -> Json:
    text: Json = {"type": "string"}
    text_or_null: Json = {"type": ["string", "null"]}
    count: Json = {"type": "integer"}
    channel = _object(
        **dict.fromkeys(("waiting", "attempts", "sent", "failed", "captured", "dropped"), count),
        problem=text_or_null | {"description": "What keeps messages from being delivered now."},
        next_attempt_in={"type": ["number", "null"], "description": "Seconds."},
    )
    message = _object(
        number=count,
        channel=text,
        slot=count,
        active={"type": "boolean", "description": "Did the condition start or stop being met?"},
        reason=text | {"description": "Who asked for it, like `rule 3`."},
        target=text,
        created={"type": "number", "description": "Seconds since 1970."},
        state=text,
        attempts=count,
        problem=text_or_null,
        answer=text_or_null | {"description": "What the other side answered."},
        ended={"type": ["number", "null"], "description": "Seconds since 1970."},
    )
    message["properties"]["content"] = {
        "type": "object",
        "description": "What it says, for captured messages.",
    }
    messages: Json = {"type": "array", "items": message}
    return _object(
        capture={"type": "boolean", "description": "Are messages kept instead of sent?"},
        channels=_values_by_key(channel),
        **dict.fromkeys(("waiting", "sent", "failed", "captured"), messages),
    )


def _firmware() -> Json:
    text: Json = {"type": ["string", "null"]}
    return _object(
        on={"type": "boolean"},
        installed={"type": "string"},
        checked={"type": ["number", "null"]},
        newest=text,
        is_newer={"type": "boolean"},
        notes=text,
        trouble=text,
    )


def _modem() -> Json:
    text: Json = {"type": ["string", "null"]}
    return _object(
        state={"type": "string"},
        sim=text,
        registration=text,
        operator=text,
        signal_dbm={"type": ["integer", "null"]},
        apn=text,
    )


def _bench() -> Json:
    text: Json = {"type": "string"}
    number: Json = {"type": "number"}
    number_or_null: Json = {"type": ["number", "null"]}
    ends: Json = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
    reading = _object(
        value=number_or_null,
        limits=ends | {"description": "What lies outside is no reading."},
        usual=ends | {"description": "Where it mostly is."},
        unit=text,
    )
    field = _object(doc=text, allowed=text, required={"type": "boolean"}, default=text)
    field["properties"] |= {
        "labels": {"type": "array", "items": text, "description": "One of them."},
        "least": text,
        "most": text,
    }
    return _object(
        virtual_time={"type": "boolean", "description": "Whether `advance` moves the time."},
        time=number | {"description": "Seconds since 1970."},
        due=number_or_null | {"description": "When something happens next, in seconds since 1970."},
        readings=_values_by_key(reading),
        pins=_values_by_key(number)
        | {"description": "How the pins are driven (PWM in percent), frequencies and pull-ups."},
        levels=_values_by_key({"type": ["integer", "null"]}),
        onewire=_values_by_key(number_or_null)
        | {"description": "The sensors on the 1-Wire bus and what they measure."},
        i2c=_object(found={"type": ["string", "null"]}, sensors={"type": "array", "items": text}),
        barcode=_object(scanned={"type": ["string", "null"]}, max_letters={"type": "integer"}),
        plants=_object(
            wired={"type": "array", "items": text},
            kinds=_values_by_key(_object(doc=text, fields=_values_by_key(field))),
        ),
        hosts=_values_by_key(number) | {"description": "Milliseconds until they answer."},
        sms=_object(
            max_letters={"type": "integer"},
            received={
                "type": "array",
                "items": _object(sender=text, text=text, answer={"type": ["string", "null"]}),
            },
        ),
    )


def _start() -> Json:
    return _object(
        board={"type": "string"},
        account=_called("CurrentAccount"),
        status=_called("JsonStatus"),
        labels=_called("Labels"),
        state=_called("State"),
        settings={"oneOf": [_of(Settings), {"type": "null"}]},
    )


def _health() -> Json:
    health = _object(
        status={"type": "string", "enum": ["ok", "degraded"]}, board={"type": "string"}
    )
    health["properties"]["troubles"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "The parts that are not as they should be, if any.",
    }
    return health


def _command() -> Json:
    """What `describe_row` gives."""
    text: Json = {"type": "string"}
    field = _object(
        letter=text,
        schema={"type": "object"},
        allowed=text,
        optional={"type": "boolean"},
        example=text,
    )
    return _object(
        section=text,
        line=text,
        method=text,
        path=text,
        items={"type": "array", "items": _object(name=text, text=text)},
        fields={"type": "array", "items": field},
        body={"type": ["object", "null"]},
        doc=text,
        role=text,
        sets=_values_by_key({"type": "array", "items": text}),
        available=text,
        deprecated={"type": "boolean"},
        example=text,
        example_body={"type": ["string", "null"]},
    )


def _log_entry() -> Json:
    text: Json = {"type": "string"}
    return _object(
        number={"type": "integer"},
        time={"type": "number", "description": "Seconds since 1970."},
        cause=text,
        detail=text,
        text=text,
    )


def _audit_entry() -> Json:
    text: Json = {"type": "string"}
    value: Json = {"description": "Null where there is none, `***` for a secret."}
    return _object(
        number={"type": "integer"},
        time={"type": "number", "description": "Seconds since 1970."},
        cause=text,
        detail=text,
        account=text | {"description": "Empty where nobody has to sign in."},
        source=text | {"description": "The address that the request came from."},
        changes={"type": "array", "items": _object(path=text, old=value, new=value)},
        not_listed={"type": "integer", "description": "Further changes of the same request."},
    )


def _not_carried_over() -> Json:
    text: Json = {"type": "string"}
    value: Json = {"description": "What the backup holds; null for a secret."}
    return _object(path=text, value=value, reason=text)


def _of(kind: type) -> Json:
    return _called(kind.__name__)


def _called(name: str) -> Json:
    return {"$ref": _PREFIX + name}


def _class_schemas() -> dict[str, Json]:
    _, schemas = msgspec.json.schema_components(_CLASSES, ref_template=_PREFIX + "{name}")
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            # The defaults of whole branches would be most of the document.
            if isinstance(field.get("default"), tuple | list | dict):
                del field["default"]
    for path in SECRETS:
        _mask(path.split("."), schemas)
    return schemas


def _mask(steps: list[str], schemas: dict[str, Json]) -> None:
    """Secrets read `***` where they are set, and null where they are not."""
    schema = schemas[Settings.__name__]
    for step in steps:
        schema = _below(schema, step, schemas)
    schema.clear()
    schema |= {"type": ["string", "null"], "description": "A secret: *** if it is set."}


def _below(schema: Json, step: str, schemas: dict[str, Json]) -> Json:
    below: Json = schema["items"] if step == "*" else schema["properties"][step]
    while "anyOf" in below or "$ref" in below:
        below = below["anyOf"][0] if "anyOf" in below else schemas[_name(below["$ref"])]
    return below


def _name(reference: str) -> str:
    return reference.removeprefix(_PREFIX)
