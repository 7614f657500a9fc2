"""Boards made of a Linux machine: GPIO lines, PWM, converters, 1-Wire and I2C, display."""
