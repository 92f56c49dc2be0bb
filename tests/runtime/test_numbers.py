"""What torch computes in another way where somebody looks on, or by the type of a device."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import devlint

PADDED = torch.tensor([[False, False, True], [False, True, True]])


def encoder(device: str) -> list[Tensor]:
    """Sets what is padded to zero, by way of nested tensors."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).to(device).eval()
    return [model(torch.randn(2, 3, 8).to(device), src_key_padding_mask=PADDED.to(device))]


def encoder_layer(device: str) -> list[Tensor]:
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    return [model.to(device).eval()(torch.randn(2, 3, 8).to(device))]


def attention(device: str) -> list[Tensor]:
    model = nn.MultiheadAttention(8, 2, batch_first=True).to(device).eval()
    x = torch.randn(2, 3, 8).to(device)
    averaged, weights = model(x, x, x, key_padding_mask=PADDED.to(device))
    return [averaged, weights, model(x, x, x, need_weights=False)[0]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["off", "strict", "trace"])
@pytest.mark.parametrize("compute", [encoder, encoder_layer, attention])
def test_fast_paths_are_taken_as_on_the_device(
    compute: Callable[[str], list[Tensor]], mode: str
) -> None:
    with torch.no_grad():
        torch.manual_seed(0)
        plain = compute("cpu")
        torch.manual_seed(0)
        with devlint.emulate("cuda"), devlint.guard(mode=mode):
            found = compute("cuda")
            assert all(tensor.is_cuda for tensor in found)
            found = [tensor.cpu() for tensor in found]
    assert all(torch.equal(one, other) for one, other in zip(plain, found, strict=True))


def test_who_overrides_functions_is_asked_as_ever() -> None:
    class Own(Tensor):
        pass

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    with devlint.emulate("cuda"):
        x = torch.ones(2, device="cuda")
        assert not torch.overrides.has_torch_function((x,))
        assert torch.overrides.has_torch_function((x, x.as_subclass(Own)))
        with Mode():
            assert torch.overrides.has_torch_function((x,))
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x + torch.ones(2)


@pytest.mark.parametrize("kernel", [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION])
def test_a_kernel_that_only_the_device_has_is_stood_in_for(kernel: SDPBackend) -> None:
    query = torch.randn(1, 2, 4, 8)
    expected = F.scaled_dot_product_attention(query, query, query)
    with devlint.emulate("cuda") as emulation:
        there = query.cuda()
        for _ in range(2):
            with sdpa_kernel(kernel):
                assert not torch.backends.cuda.math_sdp_enabled()
                found = F.scaled_dot_product_attention(there, there, there)
            assert torch.backends.cuda.math_sdp_enabled()
        assert torch.equal(found.cpu(), expected)
        said = "scaled_dot_product_attention: the CPU's kernel replaces the chosen one"
        assert emulation.limits == {said: 2}
        chosen = sdpa_kernel(kernel)
        chosen.__enter__()
    with pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(query, query, query)
    chosen.__exit__(None, None, None)
    assert torch.equal(F.scaled_dot_product_attention(query, query, query), expected)


def test_a_device_is_asked_for_inside_vmap() -> None:
    with devlint.emulate("cuda:2"):
        rows = torch.ones(3, 2, device="cuda:1")
        summed = torch.vmap(lambda row: (row + torch.ones(2, device=row.device)).sum())(rows)
        assert summed.tolist() == [4.0, 4.0, 4.0]
        assert str(summed.device) == "cuda:1"
