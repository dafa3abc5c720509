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
import types

from turnstile_capture.torch_memory import TorchMemory

MOST_INTEGER_BYTES = 256 << 20
MOST_FLOATS = 4096
READERS = {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__", "__complex__",
           "__contains__", "__dlpack__", "is_nonzero"}  # fmt: skip
FILLED_FROM_NOTHING = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
WHOLE_WRITES = {"zero_", "fill_", "copy_", "random_", "uniform_", "normal_", "fill_diagonal_"}


def constant(value):
    """A function of its own for each name: torch's compiler refuses two names of one function."""
    return lambda *args, **kwargs: value


class ValueNotKnown(RuntimeError):
    def __init__(self, what):
        super().__init__(f"turnstile-capture: {what}: this value is not known, because no kernel runs without a GPU and "
                         f"floating-point tensors have no values")  # fmt: skip


class StandInTorch:
    def __init__(self, torch, target):
        self.torch, self.target = torch, target
        self.memory = TorchMemory(torch, pretend=True)
        self.skipped = 0  # comparisons
        self.default_is_gpu = False
        self._local = threading.local()
        self._device = torch.device("cuda", 0)

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
        self._install_cuda()
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

    def _install_cuda(self):
        torch, target = self.torch, self.target
        cuda = torch.cuda
        major, minor = target.capability
        properties = types.SimpleNamespace(
            name=target.name, major=major, minor=minor, multi_processor_count=target.multiprocessors,
            total_memory=target.memory, shared_memory_per_block=49152, warp_size=target.warp_size,
            shared_memory_per_block_optin=target.shared_memory, shared_memory_per_multiprocessor=target.shared_memory + 1024,
            max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, L2_cache_size=50 << 20,
            gcnArchName=str(target.arch) if target.backend == "hip" else "", is_integrated=0, is_multi_gpu_board=0)  # fmt: skip

        class Stream:
            cuda_stream = 0
            device = self._device

            def __init__(self, *args, **kwargs):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *exc):
                return False

            def nothing(self, *args, **kwargs):
                return None

            synchronize = wait_stream = wait_event = nothing
            query = staticmethod(lambda: True)

            def record_event(self, event=None):
                return event or Event()

        class Event:
            def __init__(self, *args, **kwargs):
                pass

            def nothing(self, *args, **kwargs):
                return None

            record = wait = synchronize = nothing
            query = staticmethod(lambda: True)
            elapsed_time = staticmethod(lambda other: 1.0)

        class Guard:
            def __init__(self, *args, **kwargs):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *exc):
                return False

        stream = Stream()
        values = {
            "is_available": True, "is_initialized": True, "device_count": 1, "init": None, "current_device": 0,
            "set_device": None, "synchronize": None, "empty_cache": None, "get_device_name": target.name,
            "get_device_capability": (major, minor), "get_device_properties": properties, "current_stream": stream,
            "default_stream": stream, "set_stream": None, "is_bf16_supported": True, "memory_allocated": 0,
            "mem_get_info": (target.memory, target.memory), "max_memory_allocated": 0, "memory_reserved": 0,
            "max_memory_reserved": 0, "reset_peak_memory_stats": None, "manual_seed": None, "manual_seed_all": None,
            "_lazy_init": None, "is_current_stream_capturing": False,
        }  # fmt: skip
        answers = {name: constant(value) for name, value in values.items()}
        answers |= {"Stream": Stream, "ExternalStream": type("ExternalStream", (Stream,), {}), "Event": Event,
                    "stream": type("stream", (Guard,), {}), "device": type("device", (Guard,), {}),
                    "device_of": type("device_of", (Guard,), {})}  # fmt: skip
        for name, answer in answers.items():
            setattr(cuda, name, answer)
        for name in ("range_push", "range_pop", "mark"):
            if hasattr(cuda, "nvtx"):
                setattr(cuda.nvtx, name, constant(None))
        torch._C._cuda_getCurrentRawStream = constant(0)
        if target.backend == "hip":
            torch.version.hip, torch.version.cuda = "7.0", None
        elif not torch.version.cuda:
            torch.version.cuda = "13.0"
