"""Work with a budget: functions that run in a process of their own and end with their client."""
