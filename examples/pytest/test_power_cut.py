"""Twins as separate processes that tests kill. Each start takes a second, so there are few."""


def test_confirmed_setting_survives_a_power_cut(twin_factory):
    twin = twin_factory(process=True)
    twin.command("stm.cgi?sname=Cellar")
    twin.kill()
    twin.start()
    assert twin.settings["name"] == "Cellar"
