"""Reason codes of MQTT 5, with which a broker refuses what is published."""

#: Reason codes of MQTT 5 from here on are refusals; those that a publish can get.
FIRST_REFUSAL = 128
REASONS = {
    131: "without a known reason",
    135: "not authorized",
    144: "topic name invalid",
    149: "packet too large",
    151: "quota exceeded",
    153: "payload format invalid",
}
