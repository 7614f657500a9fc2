"""The controller's behaviour as pure logic: it turns state and time into effects, without I/O."""
