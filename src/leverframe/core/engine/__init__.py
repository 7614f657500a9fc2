"""The machine behind the commands: pure logic that turns state and time into effects."""
