"""One gateway with its agents for the tests of a file; they share it, and take principals and
sessions of their own. Such a file says `pytestmark = pytest.mark.asyncio(loop_scope="module")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from tests.gateway.web import started

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from tests.conftest import Provisioner
    from tests.gateway.web import Web


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Web]:
    async with started(embedded, tmp_path_factory.mktemp("web")) as web:
        yield web
