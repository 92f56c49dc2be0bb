"""How torch, its companions and Python spell their own names: types of tensors, dtypes, bases of
modules, annotations. What a program calls its own is no business of these."""

from __future__ import annotations

import re

_DTYPES = {
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}
_TYPE = re.compile(rf"torch\.(cuda\.)?({'|'.join(_DTYPES)})Tensor")
_CUDA_TYPE = re.compile(r"(.*\.)?cuda\.\w+Tensor")
_INTEGER = re.compile(r"(.*\.)?(u?int\d*|long|short)")
_MODULE = re.compile(
    r"(.*\.)?(nn\.Module|LightningModule|PreTrainedModel|ModelMixin)"
    r"|torch\.nn\.modules\.\w+\._[A-Z]\w+"
)
"""What is private in torch.nn's files are bases of its layers and losses."""
OTHER_FRAMEWORKS = frozenset((
    "chainer", "cupy", "flax", "jax", "jittor", "keras", "megengine", "mindspore", "mlx", "mxnet",
    "oneflow", "paddle", "tensorflow", "theano", "tinygrad",
))  # fmt: skip
"""Packages that have tensors, and modules, of their own."""
_FUNCTION = re.compile(r"torch\.autograd\.(function\.)?(Inplace)?Function")
FUNCTION = "torch.autograd.Function"
CONTEXT = "torch.autograd.function.FunctionCtx"
"""What has a backward pass of its own, and what keeps things for it."""
ALWAYS_ENCODED = ("input_ids", "attention_mask")
"""What a tokenizer of transformers gives of any text, unless it is told not to."""
_OPTIMIZER = re.compile(r"torch\.optim\.(?!lr_scheduler|swa_utils)(\w+\.)?[A-Z]\w*")
_MANAGED = re.compile(r".*(LightningModule|LightningDataModule)|Fabric")
_PLAIN = re.compile(
    r"(typing\.)?(Optional\[)?(str|int|float|bool)\]?( \| (str|int|float|bool|None))*"
)
_OF_NUMBERS = re.compile(r"\b([Ll]ist|[Tt]uple|Sequence)\[(\w+\[)?(int|float)\b")
_OF_TEXT = re.compile(r"\b(str|PIL|Image)\b")

_OF_MODULES = frozenset((
    "T_destination", "add_module", "apply", "bfloat16", "buffers", "call_super_init", "children",
    "clear", "compile", "cpu", "cuda", "double", "dump_patches", "eval", "extra_repr", "float",
    "forward", "get_buffer", "get_extra_state", "get_parameter", "get_submodule", "half", "ipu",
    "items", "keys", "load_state_dict", "modules", "mtia", "named_buffers", "named_children",
    "named_modules", "named_parameters", "parameters", "pop", "register_backward_hook",
    "register_buffer", "register_forward_hook", "register_forward_pre_hook",
    "register_full_backward_hook", "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_module",
    "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook",
    "requires_grad_", "set_extra_state", "set_submodule", "share_memory", "state_dict", "to",
    "to_empty", "train", "training", "type", "update", "values", "xpu", "zero_grad",
))  # fmt: skip
"""What a `ModuleDict` has itself: it refuses keys of these names."""
_LACKING = {
    "ModuleDict": frozenset(("copy", "fromkeys", "get", "popitem", "setdefault")),
    "ModuleList": frozenset(("clear", "copy", "count", "index", "remove", "reverse", "sort")),
    "ParameterDict": frozenset[str](),
    "ParameterList": frozenset(
        ("clear", "copy", "count", "index", "insert", "pop", "remove", "reverse", "sort")
    ),
}
"""What the lists and dicts of torch.nn don't have of Python's."""


def place_of_type(name: str) -> str:
    """The device type of a type of tensors that names it (`torch.cuda.FloatTensor`), else ""."""
    found = _TYPE.fullmatch(name)
    return "" if found is None else "cuda" if found[1] else "cpu"


def dtype_of_type(name: str) -> str:
    """The dtype that a type of tensors stands for: "int64" for `torch.LongTensor`, else ""."""
    found = _TYPE.fullmatch(name)
    return "" if found is None else _DTYPES[found[2]]


def type_on_cpu(name: str) -> str:
    """`torch.FloatTensor` for it and for `torch.cuda.FloatTensor`, else ""."""
    found = _TYPE.fullmatch(name)
    return "" if found is None else f"torch.{found[2]}Tensor"


def is_type_of_cuda(name: str) -> bool:
    """`torch.cuda.LongTensor`, also as `cuda.LongTensor`."""
    return _CUDA_TYPE.fullmatch(name) is not None


def names_submodule(key: object) -> bool:
    """Whether a `ModuleDict` takes something for a key."""
    return isinstance(key, str) and key != "" and "." not in key and key not in _OF_MODULES


def is_lacking(container: str, method: str) -> bool:
    """Whether a list or dict of torch.nn hasn't a method that Python's own has."""
    return method in _LACKING[container]


def is_integer(name: str) -> bool:
    """Whether a dtype is one of integers."""
    return _INTEGER.fullmatch(name) is not None


def is_known_class(name: str) -> bool:
    """Whether all that a library's class defines is known: torch's own modules, and Python's."""
    return name.startswith(("torch.nn.", "abc.", "typing.", "builtins.", "torch.utils.data."))


def is_module_class(name: str) -> bool:
    """Whether a dotted name is a base of modules: torch's, or a companion's."""
    return _MODULE.fullmatch(name) is not None and not is_of_other_framework(name)


def is_of_other_framework(name: str) -> bool:
    """Whether a dotted name is of a package with tensors and modules that aren't torch's."""
    return name.partition(".")[0] in OTHER_FRAMEWORKS


def is_function_class(name: str) -> bool:
    """Whether a dotted name is a base of functions that have a backward pass of their own."""
    return _FUNCTION.fullmatch(name) is not None


def is_optimizer_class(name: str) -> bool:
    """Whether a dotted name is an optimizer of torch's, or the base of all."""
    return _OPTIMIZER.fullmatch(name) is not None


def is_managed_class(name: str) -> bool:
    """Whether a framework places what a class makes that is based on that one."""
    return _MANAGED.fullmatch(name) is not None


def is_class(name: str) -> bool:
    """Whether the last word of a library's name is one of a class there."""
    return name.rpartition(".")[2][:1].isupper()


def says_plain(annotation: str) -> bool:
    """Whether an annotation says that something is a string or a number, or a list of numbers."""
    return _PLAIN.fullmatch(annotation) is not None or _OF_NUMBERS.search(annotation) is not None


def says_text(annotation: str) -> bool:
    """Whether an annotation speaks of text or pictures."""
    return _OF_TEXT.search(annotation) is not None


MODULE_ATTRIBUTES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double
    dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter
    get_submodule half ipu load_state_dict modules mtia named_buffers named_children named_modules
    named_parameters parameters register_backward_hook register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module
    register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu
    zero_grad
    """.split()
)
"""What every nn.Module has; names with an underscore in front may be its own as well."""

OLD_BUILTINS = frozenset(
    """
    apply basestring buffer cmp coerce display execfile file get_ipython intern long profile
    raw_input reduce reload reveal_type unichr unicode xrange WindowsError
    """.split()
)
"""Names that Python 2, a notebook, a profiler or a type checker binds."""
