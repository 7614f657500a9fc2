"""MQTT beside a controller: states out, commands in."""
