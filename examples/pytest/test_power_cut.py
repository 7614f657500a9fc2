"""Twins as processes of their own, to be killed. They take a second each, so they are few."""


def test_what_was_confirmed_survives_a_power_cut(twin_factory):
    twin = twin_factory(process=True)
    twin.command("stm.cgi?sname=Cellar")
    twin.kill()
    twin.start()
    assert twin.settings["name"] == "Cellar"
