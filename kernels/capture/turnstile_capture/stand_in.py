# SPDX-License-Identifier: Apache-2.0
"""A driver for triton that has no GPU: kernels are compiled for the target and recorded, not run."""

import threading

from turnstile_capture import facts

_building = threading.local()  # the CompiledKernel whose launcher is being made


def remember_kernels(compiled_kernel_class):
    """launcher_cls is given source and metadata only; this lets it find the kernel that it belongs to."""
    original = compiled_kernel_class._init_handles

    def _init_handles(self):
        before = getattr(_building, "kernel", None)
        _building.kernel = self
        try:
            return original(self)
        finally:
            _building.kernel = before

    compiled_kernel_class._init_handles = _init_handles


def kernel_being_built():
    return getattr(_building, "kernel", None)


class Utilities:
    """What triton's generated C module answers."""

    def __init__(self, target):
        self._target = target

    def load_binary(self, name, binary, shared, device):
        return 1, 1, 0, 0, 1024  # module, function, registers, spills, most threads of a CTA

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        target = self._target
        return {"max_shared_mem": target.shared_memory, "max_num_regs": 65536, "warpSize": target.warp_size,
                "multiprocessor_count": target.multiprocessors, "sm_clock_rate": 1980000, "mem_clock_rate": 2619000,
                "mem_bus_width": 5120, "arch": str(target.arch), "cu_count": target.multiprocessors}  # fmt: skip

    def cuOccupancyMaxActiveClusters(self, function, shared, cluster):
        return max(1, self._target.multiprocessors // max(1, cluster))

    def set_printf_fifo_size(self, size):
        pass


def launcher_class(recorder, target, on_problem):
    class Launcher:
        def __init__(self, src, metadata):
            self._compiled = kernel_being_built()
            self._facts = None

        def __call__(self, grid_x, grid_y, grid_z, stream, function, packed, launch_metadata, enter, leave, *values):
            if 0 in (grid_x, grid_y, grid_z):
                return  # as the real launcher: nothing runs
            try:
                if self._facts is None:
                    self._facts = facts.kernel_facts(self._compiled, target)
                recorder.record(self._facts, (grid_x, grid_y, grid_z), values)
            except Exception as error:  # noqa: BLE001 - the user's program must go on; the problem is told at the end
                recorder.forget(values)
                on_problem(self._compiled.metadata.name, error)

    return Launcher


def make_driver(base, gpu_target, target, recorder, torch_device, on_problem):
    """`base`: triton.backends.driver.DriverBase; `gpu_target`: triton's GPUTarget of `target`."""

    class StandInDriver(base):
        def __init__(self):
            super().__init__()
            self.utils = Utilities(target)
            self.launcher_cls = launcher_class(recorder, target, on_problem)
            self.binary_ext = "cubin" if target.backend == "cuda" else "hsaco"

        @classmethod
        def is_active(cls):
            return True

        def get_current_target(self):
            return gpu_target

        def get_current_device(self):
            return 0

        def set_current_device(self, device):
            pass

        def get_current_stream(self, device=None):
            return 0

        def get_device_capability(self, device=None):
            return target.capability

        def get_active_torch_device(self):
            return torch_device()

        def get_device_interface(self):
            import torch

            return torch.cuda

        def map_python_to_cpp_type(self, kind):
            return "CUdeviceptr" if kind.startswith("*") else "int64_t"

        def get_benchmarker(self):
            return benchmark_once

        def get_empty_cache_for_benchmark(self):
            return None

        def clear_cache(self, cache):
            pass

        def assemble_tensormap_to_arg(self, tensormaps_info, args):
            return args

        def allocate_default_profile_scratch(self, size, alignment, stream):
            return None

    return StandInDriver()


def benchmark_once(call, *args, quantiles=None, **kwargs):
    """In the place of triton.testing.do_bench: one call, constant times."""
    call()
    return [1.0] * len(quantiles) if quantiles is not None else 1.0


def limit_autotuning(autotuner_class, all_configurations):
    """Of each autotuned kernel the first configuration that launches, or all of them."""
    run, bench = autotuner_class.run, autotuner_class._bench

    def limited_run(self, *args, **kwargs):
        self._turnstile_decided = False
        return run(self, *args, **kwargs)

    def limited_bench(self, *args, **kwargs):
        if self._turnstile_decided:
            self._last_compiled_kernel = None
            return [float("inf")] * 3
        self._do_bench = self.__dict__["do_bench"] = benchmark_once  # fbtriton has a benchmark of its own, of 100 calls
        times = bench(self, *args, **kwargs)
        first = times[0] if isinstance(times, (list, tuple)) else times
        self._turnstile_decided = not all_configurations and first != float("inf")
        return times

    autotuner_class.run, autotuner_class._bench = limited_run, limited_bench
