"""The client of our API: its connection, and what it signs in with."""

import json

import pytest

from leverframe.host.api_client import NO_ANSWER, ApiClient, sign_in_headers
from leverframe.testing import Twin, faults

ALL = "/json/all.json"


@pytest.mark.parametrize("keeps", [True, False])
def test_request_after_one_whose_connection_broke_gets_its_answer(keeps: bool) -> None:
    with Twin() as twin:
        client = ApiClient(twin.url, keeps=keeps)
        assert client.request("GET", ALL).status == 200
        with twin.fault(faults.reset_after(40), path=ALL, times=1), pytest.raises(NO_ANSWER):
            client.request("GET", ALL)
        assert client.request("GET", ALL).status == 200
        client.close()
        assert client.is_closed


def test_account_signs_in_and_a_refusal_is_an_answer() -> None:
    with Twin(accounts={"keeper": "geheim-ä"}) as twin:
        client = ApiClient(twin.url)
        refusal = client.request("GET", "/api/account")
        assert (refusal.status, json.loads(refusal.body)["status"]) == (401, 401)
        named = client.request(
            "GET", "/api/account", headers=sign_in_headers(("keeper", "geheim-ä"))
        )
        assert json.loads(named.body)["name"] == "keeper"
    assert sign_in_headers(None) == {}
