"""The fake CUDA driver, which the process's loader keeps once it is loaded."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from fake_driver import FakeDriver, build

from hlo.gpu.cuda.device import forget_gpus
from hlo.gpu.cuda.driver import driver


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    return FakeDriver(build(tmp_path_factory.mktemp("fake_cuda")))


@pytest.fixture
def fake(library: FakeDriver) -> Generator[FakeDriver]:
    library.reset()
    driver.cache_clear()
    forget_gpus()
    yield library
    library.reset()
    driver.cache_clear()
    forget_gpus()
