"""`configured`, beside `start`: a service that can be reloaded."""

import pytest
from generations import Configured


@pytest.fixture
def configured():
    """configured(timeout="3s", ...) gives a Configured, ended afterwards."""
    services = []

    def start_one(**options):
        services.append(Configured(**options))
        services[-1].start()
        return services[-1]
    yield start_one
    for service in services:
        service.end()
