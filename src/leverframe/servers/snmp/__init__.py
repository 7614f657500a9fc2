"""The SNMP agent."""

#: As troubles and the log call it.
NAME = "SNMP agent"
