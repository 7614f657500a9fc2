"""MQTT beside a controller."""
