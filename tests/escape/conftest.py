"""Fixtures: `open_service(...)` gives a Hostile with its World, started once a
module for each set of options."""

import pytest

from hostile import Hostile, World


@pytest.fixture(scope="module")
def open_service():
    worlds = {}

    def open_one(**options):
        key = tuple(sorted(options.items()))
        if key not in worlds:
            service = Hostile(**options)
            service.__enter__()
            worlds[key] = World(service)
        return worlds[key]

    yield open_one
    for world in worlds.values():
        world.end()
        world.service.end()
