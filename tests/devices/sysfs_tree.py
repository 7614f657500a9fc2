"""A tree of files that looks like the kernel's /sys, and what a kernel would put there.

A PWM chip makes the folder of a channel when the channel is exported; a tree of files cannot, so
channels are there from the start.
"""

from pathlib import Path

from leverframe.devices.linux.onewire import name_from_id


class SysfsTree:
    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def add_pwm(self, chip: int, channels: int) -> None:
        folder = f"class/pwm/pwmchip{chip}"
        self.put(f"{folder}/npwm", f"{channels}\n")
        self.put(f"{folder}/export", "")
        for channel in range(channels):
            for name in ("period", "duty_cycle", "enable"):
                self.put(f"{folder}/pwm{channel}/{name}", "0\n")

    def pwm(self, chip: int, channel: int) -> tuple[int, int, int]:
        """Period and duty in nanoseconds, and whether it is enabled."""
        folder = f"class/pwm/pwmchip{chip}/pwm{channel}"
        period, duty, enable = (
            int(self.read(f"{folder}/{name}")) for name in ("period", "duty_cycle", "enable")
        )
        return period, duty, enable

    def set_voltage(self, device: str, channel: int, volts: float) -> None:
        """A converter of 12 bits for 4.096 V: a step is a millivolt."""
        folder = f"bus/iio/devices/{device}"
        self.put(f"{folder}/in_voltage{channel}_raw", f"{round(volts * 1000)}\n")
        self.put(f"{folder}/in_voltage_scale", "1.000000000\n")

    def open_onewire(self) -> None:
        (self.root / "bus/w1/devices/w1_bus_master1").mkdir(parents=True)

    def set_onewire(self, sensor_id: str, text: str) -> None:
        self.put(f"bus/w1/devices/{name_from_id(sensor_id)}/w1_slave", text)

    def remove_onewire(self, sensor_id: str) -> None:
        folder = self.root / "bus/w1/devices" / name_from_id(sensor_id)
        (folder / "w1_slave").unlink()
        folder.rmdir()


def w1_text(celsius: float, verdict: str = "YES") -> str:
    """What the kernel shows in `w1_slave`."""
    data = "4b 01 4b 46 7f ff 05 10 e1"
    return f"{data} : crc=e1 {verdict}\n{data} t={round(celsius * 1000)}\n"


#: The same of a sensor that has just got power, and has not measured yet.
POWER_ON_TEXT = "50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n50 05 4b 46 7f ff 0c 10 1c t=85000\n"
