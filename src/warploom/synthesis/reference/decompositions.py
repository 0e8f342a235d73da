"""What composite operations are made of, in the few that code is generated for.

Written in PyTorch and traced like the reference itself. Half types are computed in float32 inside,
as PyTorch's own kernels do.
"""

import math
from typing import Any

from warploom.synthesis.reference.torch_module import torch

aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
MOST_TOPK = 16
"""Of so many largest elements a row is searched as often; more need a sort."""


def _wide(x: Any) -> Any:
    return x.to(torch.float32) if x.dtype in _HALVES else x


def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    wide = _wide(x)
    top = torch.amax(wide, dim, keepdim=True)
    power = torch.exp(wide - top)
    result = power / torch.sum(power, dim, keepdim=True)
    return result if half_to_float else result.to(x.dtype)


def _safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """Decompose a softmax that makes zeros of a row in which all is minus infinity."""
    wide = _wide(x if dtype is None else x.to(dtype))
    limits = torch.finfo(wide.dtype)
    top = torch.clamp(torch.amax(wide, dim, keepdim=True), min=limits.min)
    power = torch.exp(wide - top)
    total = torch.clamp(torch.sum(power, dim, keepdim=True), min=limits.tiny)
    return (power / total).to(x.dtype if dtype is None else dtype)


def _attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """Decompose an attention; a causal one does not read the scores that it masks."""
    if dropout_p:
        return NotImplemented
    factor = 1.0 / query.shape[-1] ** 0.5 if scale is None else scale
    scores = torch.matmul(_wide(query), _wide(key).transpose(-2, -1)) * factor
    if is_causal:
        rows, columns = (torch.arange(scores.shape[dim], device=query.device) for dim in (-2, -1))
        scores = torch.where(columns <= rows[:, None], scores, float("-inf"))
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        scores = torch.where(attn_mask, scores, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    result = torch.matmul(_safe_softmax(scores, -1), _wide(value)).to(query.dtype)
    return result, query.new_empty(0)


def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    wide = _wide(x)
    shifted = wide - torch.amax(wide, dim, keepdim=True)
    result = shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))
    return result if half_to_float else result.to(x.dtype)


def _moments(x: Any, dims: list[int], correction: float) -> tuple[Any, Any]:
    """Return variance and mean, in two passes, with the reduced dimensions kept."""
    count = 1
    for dim in dims:
        count = count * x.shape[dim]
    mean = torch.sum(x, dims, keepdim=True) / count
    off = x - mean
    # A tensor: as a size it would be simplified for lengths of two and more.
    rest = torch.clamp(torch.scalar_tensor(count - correction, dtype=x.dtype), min=0)
    return torch.sum(off * off, dims, keepdim=True) / rest, mean


def _var(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return _var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


def _var_mean(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = [d % x.dim() for d in (dim if dim else range(x.dim()))]
    less = 1 if correction is None else correction
    var, mean = _moments(_wide(x), dims, less)
    if not keepdim:
        var, mean = torch.squeeze(var, dims), torch.squeeze(mean, dims)
    return var.to(x.dtype), mean.to(x.dtype)


def _weighted(x: Any, weight: Any, bias: Any, shape: Any = None) -> Any:
    """Return a norm times its weight and with its bias, where there are any, of this `shape`."""
    if weight is not None:
        x = x * (weight if shape is None else weight.reshape(shape))
    if bias is not None:
        x = x + (bias if shape is None else bias.reshape(shape))
    return x


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(x.dim() - len(shape), x.dim()))
    wide = _wide(x)
    var, mean = _moments(wide, dims, 0)
    scale = torch.rsqrt(var + eps)
    result = _weighted((wide - mean) * scale, weight, bias)
    return result.to(x.dtype), mean, scale


def _group_norm(
    x: Any, weight: Any, bias: Any, n: Any, c: Any, inner: Any, groups: int, eps: float
) -> Any:
    wide = _wide(x).reshape(n, groups, c // groups, inner)
    var, mean = _moments(wide, [2, 3], 0)
    scale = torch.rsqrt(var + eps)
    result = _weighted((wide - mean) * scale, weight, bias, (1, groups, c // groups, 1))
    flat = [torch.squeeze(t, [2, 3]) for t in (mean, scale)]
    return result.to(x.dtype).reshape(x.shape), flat[0], flat[1]


def _of_channels(x: Any, weight: Any, bias: Any, mean: Any, scale: Any) -> Any:
    """Return a batch norm, of which `mean` and `scale` are for each channel."""
    shape = [-1 if dim == 1 else 1 for dim in range(x.dim())]
    result = (_wide(x) - mean.reshape(shape)) * scale.reshape(shape)
    return _weighted(result, weight, bias, shape).to(x.dtype)


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    """Decompose a batch norm that is no training's: its moments are inputs."""
    del momentum
    scale = torch.rsqrt(var + eps)
    return _of_channels(x, weight, bias, mean, scale), x.new_empty(0), x.new_empty(0)


def _instance_norm(
    x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Decompose a batch norm without kept moments, as `instance_norm` calls it."""
    del training, momentum
    var, mean = _moments(_wide(x), [dim for dim in range(x.dim()) if dim != 1], 0)
    mean, scale = mean.reshape(-1), torch.rsqrt(var + eps).reshape(-1)
    return _of_channels(x, weight, bias, mean, scale), mean, scale


def _mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    dims = [d % x.dim() for d in (dim if dim else range(x.dim()))]
    wide = _wide(x if dtype is None else x.to(dtype))
    count = 1
    for d in dims:
        count = count * x.shape[d]
    result = torch.sum(wide, dims, keepdim=keepdim) / count
    return result.to(x.dtype if dtype is None else dtype)


def _mean_all(x: Any, *, dtype: Any = None) -> Any:
    return _mean(x, list(range(x.dim())), dtype=dtype)


def _vector_norm(
    x: Any, order: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    dims = list(range(x.dim())) if dim is None else list(dim)
    wide = _wide(x if dtype is None else x.to(dtype))
    size = torch.abs(wide)
    if math.isinf(order):
        result = (torch.amax if order > 0 else torch.amin)(size, dims, keepdim=keepdim)
    elif order == 0:
        result = torch.sum((size != 0).to(wide.dtype), dims, keepdim=keepdim)
    elif order == 1:
        result = torch.sum(size, dims, keepdim=keepdim)
    elif order == 2:
        result = torch.sqrt(torch.sum(wide * wide, dims, keepdim=keepdim))
    else:
        result = torch.pow(torch.sum(torch.pow(size, order), dims, keepdim=keepdim), 1 / order)
    return result.to(x.dtype if dtype is None else dtype)


def _gelu(x: Any, approximate: str = "none") -> Any:
    wide = _wide(x)
    if approximate == "tanh":
        inner = 0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)
        return (0.5 * wide * (1.0 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * wide * (1.0 + torch.erf(wide * 0.7071067811865476))).to(x.dtype)


def _addmm(bias: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = torch.mm(a, b)
    if alpha != 1:
        product = product * alpha
    return product + (bias if beta == 1 else bias * beta)


def _extreme(x: Any, dim: int, keepdim: bool, largest: bool) -> Any:
    value = (torch.amax if largest else torch.amin)(x, dim, keepdim=keepdim)
    place = (torch.argmax if largest else torch.argmin)(x, dim, keepdim=keepdim)
    return value, place


def _max_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _extreme(x, dim, keepdim, largest=True)


def _min_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _extreme(x, dim, keepdim, largest=False)


def _topk(x: Any, k: Any, dim: int = -1, largest: bool = True, *_ordered: Any) -> Any:
    if not isinstance(k, int) or k > MOST_TOPK or not x.is_floating_point():
        return NotImplemented
    at = torch.arange(x.shape[dim], device=x.device)
    at = at.reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())])
    rest = x
    values: list[Any] = []
    places: list[Any] = []
    worst = float("-inf") if largest else float("inf")
    for _ in range(k):
        value, place = _extreme(rest, dim, keepdim=True, largest=largest)
        values.append(value)
        places.append(place)
        rest = torch.where(at == place, worst, rest)
    return torch.cat(values, dim), torch.cat(places, dim)


def _index_select(x: Any, dim: int, index: Any) -> Any:
    return aten.index.Tensor(x, [None] * (dim % x.dim()) + [index])


def table() -> dict[Any, Any]:
    """Return core ATen's decompositions, with ours for what these leave whole."""
    found = dict(torch.export.default_decompositions())
    found.update(
        {
            aten._softmax.default: _softmax,
            aten._safe_softmax.default: _safe_softmax,
            aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
            aten._log_softmax.default: _log_softmax,
            aten.var.correction: _var,
            aten.var_mean.correction: _var_mean,
            aten.native_layer_norm.default: _layer_norm,
            aten.native_group_norm.default: _group_norm,
            aten._native_batch_norm_legit_no_training.default: _batch_norm,
            aten._native_batch_norm_legit.no_stats: _instance_norm,
            aten.mean.dim: _mean,
            aten.mean.default: _mean_all,
            aten.linalg_vector_norm.default: _vector_norm,
            aten.gelu.default: _gelu,
            aten.addmm.default: _addmm,
            aten.max.dim: _max_dim,
            aten.min.dim: _min_dim,
            aten.topk.default: _topk,
            aten.index_select.default: _index_select,
        }
    )
    return found
