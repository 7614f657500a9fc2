"""The machine behind the commands: pure logic. State and time go in, effects come out."""
