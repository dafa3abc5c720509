# SPDX-License-Identifier: Apache-2.0
"""Capture beside a running GPU: every launch runs as it would without us, and is recorded before it does.

With --record, outputs are read back after the launch and become a golden record beside the launch file.
"""

import datetime
import time

from turnstile_capture import CaptureError, facts, golden, session, stand_in
from turnstile_capture.recorder import Recorder
from turnstile_capture.targets import parse_target


class Gate:
    """Whether launches are recorded now: while an autotuner measures, they are not."""

    def __init__(self):
        self.open = True


def hold_back_autotuning(autotuner_class, gate, all_configurations):
    """The launches of a measurement are one and the same hundreds of times. Of the chosen configuration the launch that
    follows is recorded; with `all_configurations` the first one of each measurement."""
    bench = autotuner_class._bench

    def quiet_bench(self, *args, **kwargs):
        before = gate.open
        gate.open = "once" if all_configurations else False
        try:
            return bench(self, *args, **kwargs)
        finally:
            gate.open = before

    autotuner_class._bench = quiet_bench


def launcher_class(original, recorder, target, gate, on_problem, observer=None):
    """Wraps the real launcher. `observer`: records outputs; None if they are not asked for."""

    class RecordingLauncher:
        def __init__(self, src, metadata):
            self._real = original(src, metadata)
            self._compiled = stand_in.kernel_being_built()
            self._facts = None

        def __getattr__(self, name):
            return getattr(self._real, name)

        def __call__(self, grid_x, grid_y, grid_z, stream, function, packed, launch_metadata, enter, leave, *values):
            def launch():
                return self._real(grid_x, grid_y, grid_z, stream, function, packed, launch_metadata, enter, leave, *values)

            if not gate.open or 0 in (grid_x, grid_y, grid_z):
                return launch()
            if gate.open == "once":
                gate.open = False
            prepared = None
            try:
                if self._facts is None:
                    self._facts = facts.kernel_facts(self._compiled, target)
                if observer is not None:
                    observer.wait()  # what earlier kernels write is input of this one
                prepared = self._prepared((grid_x, grid_y, grid_z), values)
            except Exception as error:  # noqa: BLE001 - the user's program must go on; the problem is told at the end
                on_problem(self._compiled.metadata.name, error)
            if prepared is None or observer is None or not prepared.new or not prepared.launch.cases:
                result = launch()
                more = {}
            else:
                result, more = self._observed(launch, prepared)
            if prepared is not None:
                recorder.commit(prepared, more)
            return result

        def _prepared(self, grid, values):
            if observer is not None:
                try:
                    return recorder.prepare(self._facts, grid, values, everything=True)
                except CaptureError as error:  # too large, or scratch memory: the launch file all the same
                    on_problem(self._facts.entry, CaptureError(f"no golden record: {error}"))
            return recorder.prepare(self._facts, grid, values)

        def _observed(self, launch, prepared):
            result, milliseconds = observer.timed(launch)
            try:
                outputs = {buffer.name: buffer.allocation.read() for buffer in prepared.launch.buffers if buffer.written}
                name = golden.record_name(prepared.launch.entry, prepared.launch.cases[0])
                text = golden.record_text(prepared.launch, prepared.kernel.code, observer.gpu(), observer.run(milliseconds), outputs)
                return result, {name: text.encode()}
            except Exception as error:  # noqa: BLE001
                on_problem(prepared.launch.entry, error)
                return result, {}

    return RecordingLauncher


class Observer:
    """What a record says of the GPU and of the run."""

    def __init__(self, torch):
        self._torch = torch

    def wait(self):
        self._torch.cuda.synchronize()

    def timed(self, launch):
        self.wait()
        start = time.perf_counter()
        result = launch()
        self.wait()  # a kernel that faults is the program's error: it shows here
        return result, (time.perf_counter() - start) * 1e3

    def gpu(self):
        torch = self._torch
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        return {"name": properties.name, "compute_capability": f"{properties.major}.{properties.minor}",
                "sms": properties.multi_processor_count, "driver": driver_version(), "cuda_driver_api": "unknown",
                "cuda_toolkit": torch.version.cuda or "unknown"}  # fmt: skip

    def run(self, milliseconds):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"date": date, "repetitions": 1, "kernel_ms": milliseconds}


def driver_version(path="/proc/driver/nvidia/version"):
    import re

    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", file.read())
    except OSError:
        return "unknown"
    return found[1] if found else "unknown"


def remember_addresses(torch, torch_memory):
    """Programs that put data_ptr() into tensors: what such an address means is noted when it is asked for."""
    original = torch.Tensor.data_ptr

    def data_ptr(self):
        torch_memory.view_of(self)
        return original(self)

    torch.Tensor.data_ptr = data_ptr


def run(arguments, target, triton, dialect, problems):
    try:
        import torch
    except ImportError as error:
        raise CaptureError("--gpu needs torch") from error
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

    from turnstile_capture.torch_memory import TorchMemory

    try:
        driver = triton.runtime.driver.active
        found = driver.get_current_target()
    except Exception as error:  # noqa: BLE001 - triton raises RuntimeError, torch its own kinds
        raise CaptureError(f"--gpu: there is no GPU that triton can use: {error}") from error
    there = parse_target(f"sm_{found.arch}" if found.backend == "cuda" else str(found.arch))
    if target is not None and target.arch != there.arch:
        raise CaptureError(f"--target {target.text}: the GPU of this machine is {there.text}; leave --target out")
    torch_memory = TorchMemory(torch, pretend=False)
    recorder = problems.recorder = Recorder(arguments.out, there, dialect, torch_memory, session.label)
    gate = Gate()
    stand_in.remember_kernels(CompiledKernel)
    hold_back_autotuning(Autotuner, gate, arguments.all_configs)
    remember_addresses(torch, torch_memory)
    knobs = getattr(getattr(triton, "knobs", None), "nvidia", None)
    if hasattr(knobs, "use_triton_dispatcher"):
        knobs.use_triton_dispatcher = False  # a path in C that passes the launcher by
    observer = Observer(torch) if arguments.record else None
    driver.launcher_cls = launcher_class(driver.launcher_cls, recorder, there, gate, problems, observer)
    status = session.run_program(arguments.program)
    return session.report(recorder, status, 0)
