"""Every layer by itself: no layer hides behind another.

Each layer that an attack names stops it alone, with only the floor beside it:
the namespaces of users, mounts and processes, the tree, the run's own tmpfs.
As a control the same attack succeeds with nothing but the floor, wherever it
names nothing of that; an attack that names a part of the floor is run there
instead, and stopped. So what could harm the machine is always inside the
run's pid namespace, and bounds itself.

Descriptors are the exception: they are always in force but where they are the
question, since a child that keeps the other end of its own job waits for ever.
"""

import resource

import pytest

from hostile import (FLOOR, LAYERS, all_attacks, landlock_abi, only,
                     parameters, said)

# Where an attack fails by itself, here or on some machines, and so proves
# nothing when it does.
UNCONTROLLED = {
    "F07-inherited-fds": "a child that keeps its job's other end never begins",
    "N02-metadata": "there is a metadata service on few machines",
    "P16-x32-abi": "few kernels have x32",
    "X04-x32-machine-code": "few kernels have x32",
    "X03-int-80": "not every kernel runs 32-bit programs",
    "X62-listener-left-in-flight": "the kernel may collect them at once",
}
if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
    # Under sudo, for one, nothing that we start leaves a core.
    UNCONTROLLED.update(dict.fromkeys(
        ("P11-core", "P17-core-pipe", "X22-core-of-a-program"),
        "no core is to be had here at all"))
#: The ABI of Landlock that an attack is stopped by.
NEEDS_ABI = {"N01-loopback-tcp": 4, "M02-webbrowser": 4,
             "N05-abstract-socket": 6, "N09-cross-run-abstract": 6}

ATTACKS = all_attacks()
# What is of the service's own watch is no layer of the child's.
SINGLE = [(attack, layer) for attack in ATTACKS for layer in attack.layers
          if layer in LAYERS]
ON_THE_FLOOR = [[attack] for attack in ATTACKS
                if set(attack.layers) & set(FLOOR) - {"worker"}
                and not attack.open]
CONTROLS = [[attack] for attack in ATTACKS
            if set(attack.layers) <= set(LAYERS) and not attack.open
            and attack.name not in UNCONTROLLED]


def test_every_layer_is_tried_by_itself():
    assert {layer for _, layer in SINGLE} == set(LAYERS)


@pytest.mark.parametrize("attack, layer", parameters(
    sorted(SINGLE, key=lambda pair: pair[1])))
def test_a_layer_alone_stops_it(open_service, attack, layer):
    if layer == "landlock" and landlock_abi() < NEEDS_ABI.get(attack.name, 1):
        pytest.skip(f"Landlock's ABI is {landlock_abi()}")
    world = open_service(without=only(layer, "descriptors"))

    reply = attack.run(world)

    assert "LEAK" not in reply["output"], reply["output"]
    if layer == attack.layers[0]:
        assert attack.holds(reply), (attack.expected, said(reply))
    world.service.wait_until_quiet()


@pytest.mark.parametrize("attack", parameters(ON_THE_FLOOR))
def test_the_floor_stops_it(open_service, attack):
    world = open_service(without=only("descriptors"))

    reply = attack.run(world)

    assert "LEAK" not in reply["output"], reply["output"]
    world.service.wait_until_quiet()


@pytest.mark.parametrize("attack", parameters(CONTROLS))
def test_without_its_layers_it_succeeds(open_service, attack):
    world = open_service(without=only("descriptors"))

    reply = attack.run(world)

    assert "LEAK" in reply["output"], said(reply)
    world.service.wait_until_quiet()
