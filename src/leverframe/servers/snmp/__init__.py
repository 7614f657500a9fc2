"""The SNMP agent."""

#: Its name in problems and the log.
NAME = "SNMP agent"
