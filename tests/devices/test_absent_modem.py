"""Without a serial port there is no modem, and every request to it is refused."""

import pytest

from leverframe.core.engine.calls import SendModem
from leverframe.devices.modem_line import NOT_CONNECTED, AbsentModem, ModemUnavailable


async def test_absent_modem_refuses_all_and_says_why() -> None:
    modem = AbsentModem()
    with pytest.raises(ModemUnavailable, match=NOT_CONNECTED):
        await modem.send_sms("+48600000000", "Frost")
    modem.command(SendModem("AT+CSQ"))
    report = modem.status.full_report()
    assert (report.state, report.command, report.answer) == (
        "not connected",
        "AT+CSQ",
        (NOT_CONNECTED,),
    )
