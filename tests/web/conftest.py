"""An explorer of loans, and a visitor who has its token."""

import pytest

from tests.web.explorer_server import client_with_token, explorer_server, loans_room


@pytest.fixture(scope="module")
def address():
    with explorer_server(loans_room()) as found:
        yield found


@pytest.fixture
def client(address):
    with client_with_token(address) as found:
        yield found
