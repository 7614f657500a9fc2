"""The Modbus TCP server."""
