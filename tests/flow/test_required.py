"""Helpers of a test file stand behind what its tests ask for."""

from __future__ import annotations

import textwrap

import pytest

from devlint.config.settings import Settings
from devlint.lint import check_source

SOURCE = """
    import pytest
    import torch

    @pytest.fixture
    def kernels():
        if not torch.cuda.is_available():
            pytest.skip("needs CUDA")
        import kernels
        return kernels

    def inputs(kernels, size):
        return kernels.pack(torch.ones(size, device="cuda"))

    def test_small(kernels):
        assert inputs(kernels, 3).any()

    def test_large({parameters}):
        assert inputs(kernels, 3000).any()
"""


@pytest.mark.parametrize(("parameters", "expected"), [("kernels", []), ("", ["DEV103"])])
def test_what_all_tests_call_behind_a_guard_is_guarded(
    parameters: str, expected: list[str]
) -> None:
    source = textwrap.dedent(SOURCE).format(parameters=parameters)
    found = check_source(source.encode(), "tests/test_kernels.py", Settings(pedantic=True))
    assert [finding.code for finding in found] == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("tests/test_cuda_ops.py", []), ("tests/test_ops.py", ["DEV103"])]
)
def test_tests_that_are_named_for_cuda_are_run_where_it_is(path: str, expected: list[str]) -> None:
    source = 'import torch\n\nx = torch.ones(3, device="cuda")\n'
    found = check_source(source.encode(), path, Settings(pedantic=True))
    assert [finding.code for finding in found] == expected
