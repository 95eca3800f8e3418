"""Every attack, with all layers in force."""

import os

import pytest

from hostile import all_attacks, parameters, said

# Who starts the service: root's drops to its account, the other never was.
STARTERS = [None, "www-data"] if os.geteuid() == 0 else [None]


@pytest.fixture(params=STARTERS, scope="module",
                ids=lambda account: account or "self")
def world(request, open_service):
    return open_service(account=request.param)


@pytest.mark.parametrize("attack", parameters(
    [attack] for attack in all_attacks()))
def test_an_attack_is_stopped(request, world, attack):
    service = world.service
    if attack.open_without_ids and not service.has_own_ids():
        request.applymarker(pytest.mark.xfail(
            reason=attack.open_without_ids, strict=True))
    before = service.keepers()

    reply = attack.run(world)

    assert "LEAK" not in reply["output"], reply["output"]
    assert attack.holds(reply), (attack.expected, said(reply))
    # Whatever it did: nobody died, nothing is left, the next one runs.
    service.wait_until_quiet()
    assert service.keepers() == before
    assert service.run("print(1)")["output"] == "1\n"
