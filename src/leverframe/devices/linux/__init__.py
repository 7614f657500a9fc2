"""Linux machines as boards: GPIO lines, PWM, converters, 1-Wire, I2C and display."""
