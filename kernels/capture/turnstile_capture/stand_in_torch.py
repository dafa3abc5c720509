# SPDX-License-Identifier: Apache-2.0
"""torch without a GPU, for programs that believe in one.

Tensors "on the GPU" are of two kinds. Those whose values a kernel may need to find its way (integers: offsets, lengths,
counters) are ordinary tensors in the memory of the host; so are small ones. All others have a shape and no
values (`meta`), which makes them free: a program over 8192-cubed matrices runs in milliseconds. What is computed from
tensors without values has none, and neither has what a kernel wrote, since no kernel runs. Asking for such a value
is an error that says so; comparisons made to test a kernel are skipped and counted.
"""

import functools
import threading

from turnstile_capture import session, stand_in_cuda
from turnstile_capture.torch_memory import TorchMemory

MOST_INTEGER_BYTES = 256 << 20
MOST_FLOATS = 4096
READERS = {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__", "__complex__",
           "__contains__", "__dlpack__", "is_nonzero"}  # fmt: skip
FILLED_FROM_NOTHING = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
WHOLE_WRITES = {"zero_", "fill_", "copy_", "random_", "uniform_", "normal_", "fill_diagonal_"}


class ValueNotKnown(RuntimeError):
    def __init__(self, what):
        super().__init__(f"turnstile-capture: {what}: this value is not known, because no kernel runs without a GPU and "
                         f"floating-point tensors have no values")  # fmt: skip


class StandInTorch:
    def __init__(self, torch, target):
        self.torch, self.target = torch, target
        self.memory = TorchMemory(torch, pretend=True)
        self.skipped = 0  # comparisons
        self._replays = []  # of CUDA graphs
        self.default_is_gpu = False
        self._local = threading.local()
        self._device = torch.device("cuda", 0)

    def remarks(self):
        """Lines for the end of the report."""
        skipped = [f"{self.skipped} comparisons of results skipped (no kernel ran)"] if self.skipped else []
        return skipped + session.remarks_on_replays(len(self._replays))

    # --- devices -------------------------------------------------------------------------------------------

    def names_gpu(self, device):
        torch = self.torch
        if isinstance(device, bool) or device is None:
            return False
        if isinstance(device, int):
            return True
        if isinstance(device, str):
            return device.split(":")[0] in ("cuda", "meta", "hip")
        return isinstance(device, torch.device) and device.type in ("cuda", "meta")

    def on_gpu(self, tensor):
        with self.torch._C.DisableTorchFunction():
            return tensor.is_meta or getattr(tensor, "_turnstile_gpu", False)

    def _marked(self, result):
        def mark(value):
            if isinstance(value, self.torch.Tensor):
                with self.torch._C.DisableTorchFunction():
                    if not value.is_meta:
                        value._turnstile_gpu = True
            return value

        return self._map(mark, result)

    def _map(self, function, tree):
        from torch.utils._pytree import tree_map

        return tree_map(function, tree)

    def _tensors(self, tree):
        from torch.utils._pytree import tree_leaves

        return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, self.torch.Tensor)]

    def _keeps_values(self, tensor):
        size = tensor.numel() * tensor.element_size()
        if tensor.is_floating_point() or tensor.is_complex():
            return tensor.numel() <= MOST_FLOATS
        return size <= MOST_INTEGER_BYTES

    # --- every torch function --------------------------------------------------------------------------------

    def call(self, func, args, kwargs):
        torch = self.torch
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._property(func, args)
        if name in ("__set__", "__delete__"):
            return func(*args, **kwargs)
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if name == "data_ptr" and first is not None:
            return self.memory.data_ptr(first)
        if name in ("cuda", "cpu", "to", "get_device", "is_pinned", "pin_memory", "record_stream") and first is not None:
            return self._move(name, func, first, args[1:], kwargs)
        if name in READERS and first is not None and self.memory.is_unknown(first):
            raise ValueNotKnown(f"Tensor.{name}")
        if name == "__format__" and first is not None and self.memory.is_unknown(first):
            return "<not known>"
        if name in ("allclose", "equal") and any(map(self.memory.is_unknown, self._tensors((args, kwargs)))):
            self.skipped += 1
            return True
        if name == "set_default_device" or not callable(func):
            return func(*args, **kwargs)
        if "device" in kwargs or self._is_factory(name, first, args, kwargs):
            return self._make(name, func, args, kwargs)
        return self._compute(name, func, args, kwargs)

    def _property(self, func, args):
        torch, tensor = self.torch, args[0]
        descriptor = getattr(func, "__self__", None)
        if descriptor is torch.Tensor.device and self.on_gpu(tensor):
            return self._device
        if descriptor is torch.Tensor.is_cuda:
            return self.on_gpu(tensor)
        if descriptor is torch.Tensor.is_meta:
            return False
        if descriptor is torch.Tensor.is_cpu:
            return not self.on_gpu(tensor)
        result = func(*args)
        if isinstance(result, torch.Tensor) and self.on_gpu(tensor):
            self._marked(result)
        return result

    def _is_factory(self, name, first, args, kwargs):
        if not self.default_is_gpu or self._tensors((args, kwargs)):
            return False
        return name in ("empty", "zeros", "ones", "full", "rand", "randn", "randint", "arange", "tensor", "as_tensor", "eye",
                        "linspace", "randperm", "empty_strided", "normal")  # fmt: skip

    def _move(self, name, func, tensor, rest, kwargs):
        torch = self.torch
        if name == "get_device":
            return 0 if self.on_gpu(tensor) else -1
        if name == "is_pinned":
            return False
        if name in ("pin_memory", "record_stream"):
            return tensor if name == "pin_memory" else None
        if name == "cuda":
            return self._place(tensor)
        if name == "cpu":
            return tensor if self.memory.is_unknown(tensor) else self._plain(tensor)
        kwargs = dict(kwargs)
        rest = list(rest)
        device = kwargs.pop("device", None)
        other = kwargs.pop("other", None)
        kwargs.pop("non_blocking", None)
        if rest and isinstance(rest[0], torch.Tensor):
            other = rest.pop(0)
        elif rest and (rest[0] is None or isinstance(rest[0], (str, torch.device)) or
                       (isinstance(rest[0], int) and not isinstance(rest[0], bool))):  # fmt: skip
            device = rest.pop(0)
            if rest and isinstance(rest[-1], bool):
                rest = rest[:1] if isinstance(rest[0], torch.dtype) else []
        to_gpu = self.names_gpu(device)
        to_cpu = device is not None and not to_gpu
        if other is not None:
            to_gpu, to_cpu = self.on_gpu(other), not self.on_gpu(other)
            with torch._C.DisableTorchFunction():
                rest = [other.dtype]
        if rest or kwargs:
            tensor = self._compute(name, func, (tensor, *rest), kwargs)
        if to_gpu:
            return self._place(tensor)
        return self._plain(tensor) if to_cpu and not self.memory.is_unknown(tensor) else tensor

    def _plain(self, tensor):
        """A tensor of the host: a copy, as from a real GPU."""
        return tensor.clone() if self.on_gpu(tensor) else tensor

    def _place(self, tensor):
        """A tensor "on the GPU"."""
        if self.on_gpu(tensor):
            return tensor
        if self._keeps_values(tensor):
            return self._marked(tensor.clone())
        return tensor.to("meta")

    def _make(self, name, func, args, kwargs):
        """Functions that say where their result stands."""
        torch = self.torch
        device = kwargs.get("device")
        if device is None and not self._is_factory(name, None, args, kwargs):
            kwargs.pop("device", None)
            return self._compute(name, func, args, kwargs)
        if device is not None and not self.names_gpu(device):
            return self._compute(name, func, args, kwargs)
        kwargs = {key: value for key, value in kwargs.items() if key not in ("pin_memory", "generator")}
        if self._tensors((args, kwargs)) and name in ("tensor", "as_tensor", "asarray"):
            kwargs.pop("device")
            return self._place(self._compute(name, func, args, kwargs))
        shape_only = self._map(lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v, (args, kwargs))
        try:
            result = func(*shape_only[0], **{**shape_only[1], "device": "meta"})
        except (NotImplementedError, RuntimeError):
            return self._marked(self._compute(name, func, args, {**kwargs, "device": "cpu"}))
        if not isinstance(result, torch.Tensor) or not self._keeps_values(result):
            return result
        if name not in FILLED_FROM_NOTHING and any(map(self.memory.is_unknown, self._tensors((args, kwargs)))):
            if not name.endswith("_like") and not name.startswith("new_"):
                return result
        return self._on_host(name, func, args, kwargs, result)

    def _on_host(self, name, func, args, kwargs, shape):
        """The same tensor with values; one that nothing fills has none that are known."""
        torch = self.torch
        if "empty" in name:
            result = torch.zeros_like(shape, device="cpu")
            self._marked(result)
            self.memory.mark(result, unknown=True)
            return result
        return self._marked(func(*args, **{**kwargs, "device": "cpu"}))

    def _compute(self, name, func, args, kwargs):
        torch = self.torch
        tensors = self._tensors((args, kwargs))
        unknown = any(map(self.memory.is_unknown, tensors))
        gpu = any(map(self.on_gpu, tensors))
        target = kwargs.get("out")
        if target is None and self._is_in_place(name) and args and isinstance(args[0], torch.Tensor):
            target = args[0]
        if isinstance(target, torch.Tensor) and not target.is_meta:
            others = [t for t in tensors if t is not target]
            if any(map(self.memory.is_unknown, others)):
                self.memory.mark(target, unknown=True)
                return target if name != "__setitem__" else None
            result = func(*args, **kwargs)
            if name in WHOLE_WRITES and target.numel() * target.element_size() == target.untyped_storage().nbytes():
                self.memory.mark(target, unknown=False)
            return result
        if not unknown:
            result = func(*args, **kwargs)
            return self._marked(result) if gpu else result
        without = self._map(lambda v: v.to("meta") if isinstance(v, torch.Tensor) and not v.is_meta else v, (args, kwargs))
        if self._is_view(name) and len(tensors) == 1 and not tensors[0].is_meta:
            return self._marked(func(*args, **kwargs))  # keeps to its allocation, which is known to be unknown
        try:
            result = func(*without[0], **without[1])
        except NotImplementedError as error:
            raise ValueNotKnown(f"torch.{name}") from error
        if name in FILLED_FROM_NOTHING or name in ("empty_like", "new_empty", "new_tensor"):
            if isinstance(result, torch.Tensor) and self._keeps_values(result):
                return self._on_host(name, func, args, kwargs, result)
        return result

    @staticmethod
    def _is_in_place(name):
        if name in ("requires_grad_", "retain_grad", "detach_"):
            return False
        return name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or (
            name.startswith("__i") and name.endswith("__") and name not in ("__index__", "__int__", "__invert__", "__init__"))

    @staticmethod
    def _is_view(name):
        return name in ("view", "reshape", "__getitem__", "select", "narrow", "unsqueeze", "squeeze", "transpose", "permute", "t",
                        "expand", "as_strided", "flatten", "unflatten", "detach", "view_as", "swapaxes", "movedim")  # fmt: skip

    # --- taking over -----------------------------------------------------------------------------------------

    def install(self):
        torch, stand_in = self.torch, self

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return stand_in.call(func, args, dict(kwargs or {}))

        self._mode = Mode()
        self._mode.__enter__()
        self._replays = stand_in_cuda.install(torch, self.target, self._device)
        self._install_comparisons()
        torch.compile = lambda model=None, **options: (lambda inner: inner) if model is None else model

        def set_default_device(device):
            self.default_is_gpu = self.names_gpu(device)

        torch.set_default_device = set_default_device

        class Generator(torch.Generator):
            def __new__(cls, device="cpu"):
                return super().__new__(cls, "cpu")

        torch.Generator = Generator

    def _install_comparisons(self):
        testing = self.torch.testing
        original = testing.assert_close

        @functools.wraps(original)
        def assert_close(actual, expected, *args, **kwargs):
            if any(map(self.memory.is_unknown, self._tensors((actual, expected)))):
                self.skipped += 1
                return
            original(actual, expected, *args, **kwargs)

        testing.assert_close = assert_close
