# SPDX-License-Identifier: Apache-2.0
"""Capture beside a running GPU: every launch runs as it would without us, and is saved before it does, so that one that
faults or hangs is there too.

With --record, outputs are read back after the launch and become a golden record beside the launch file.
"""

import contextlib
import datetime
import os
import time

from turnstile_capture import CaptureError, facts, golden, processes, session, stand_in
from turnstile_capture.recorder import Recorder
from turnstile_capture.targets import parse_target

WITHOUT_RECORD = "is saved without a golden record"
IN_GRAPH = "Launched while a CUDA graph was captured: nothing ran, and values could not be read."


class Gate:
    """Whether launches are recorded now: while something measures, they are not."""

    def __init__(self):
        self.open = True

    @contextlib.contextmanager
    def only(self, state):
        before, self.open = self.open, state
        try:
            yield
        finally:
            self.open = before


def hold_back_autotuning(autotuner_class, gate, all_configurations):
    """The launches of a measurement are one and the same hundreds of times. Of the chosen configuration the launch that
    follows is recorded; with `all_configurations` the first one of each measurement."""
    bench = autotuner_class._bench

    def quiet_bench(self, *args, **kwargs):
        with gate.only("once" if all_configurations else False):
            return bench(self, *args, **kwargs)

    autotuner_class._bench = quiet_bench


def hold_back_benchmarks(testing, gate):
    """Of a measurement that the program itself makes, the first call: the others work on what it left."""
    for name in ("do_bench", "do_bench_cudagraph"):
        if hasattr(testing, name):
            setattr(testing, name, _first_call_only(getattr(testing, name), gate))


def _first_call_only(bench, gate):
    def quiet_bench(call, *args, **kwargs):
        state = gate.open

        def quiet_call(*inner, **more):
            nonlocal state
            now, state = state, False
            with gate.only(now):
                return call(*inner, **more)

        return bench(quiet_call, *args, **kwargs)

    return quiet_bench


def launcher_class(original, recorder, target, gate, on_problem, observer=None, capturing=lambda: False):
    """Wraps the real launcher. `observer`: records outputs; None if they are not asked for. `capturing`: whether launches
    go into a CUDA graph now."""

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
                prepared = self._saved((grid_x, grid_y, grid_z), values)
            except Exception as error:  # noqa: BLE001 - the user's program must go on; the problem is told at the end
                on_problem(self._compiled.metadata.name, error)
            if prepared is None or not prepared.launch.cases:
                return launch()
            result, milliseconds = observer.timed(launch)
            try:
                self._record_outputs(prepared, milliseconds)
            except Exception as error:  # noqa: BLE001
                on_problem(prepared.launch.entry, error, WITHOUT_RECORD)
            return result

        def _saved(self, grid, values):
            if self._facts is None:
                self._facts = facts.kernel_facts(self._compiled, target)
            in_graph = capturing()
            if observer is not None and not in_graph:
                observer.wait()  # what earlier kernels write is input of this one
            prepared = recorder.prepare(self._facts, grid, values, [IN_GRAPH] if in_graph else [])
            if observer is not None and prepared.new:
                try:
                    if in_graph:
                        raise CaptureError("it was launched while a CUDA graph was captured, and did not run then")
                    recorder.keep_everything(prepared)
                except CaptureError as error:  # too large, scratch memory: the launch file all the same
                    on_problem(self._facts.entry, error, WITHOUT_RECORD)
            recorder.commit(prepared)
            return prepared

        def _record_outputs(self, prepared, milliseconds):
            launch = prepared.launch
            outputs = {buffer.name: buffer.allocation.read() for buffer in launch.buffers if buffer.written}
            text = golden.record_text(launch, prepared.kernel.code, observer.gpu(), observer.run(milliseconds), outputs)
            recorder.add_file(prepared, golden.record_name(launch.entry, launch.cases[0]), text.encode())

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
        # Tensors without memory of their own (sparse ones, those of tracers) have no view, but perhaps an answer.
        with contextlib.suppress(Exception):
            torch_memory.view_of(self)
        return original(self)

    torch.Tensor.data_ptr = data_ptr


def count_replays(graph_class):
    """A list that grows with each replay of a CUDA graph, whose launches no launcher sees."""
    replays, original = [], graph_class.replay

    def replay(self):
        replays.append(1)
        return original(self)

    graph_class.replay = replay
    return replays


def run(arguments, target, triton, dialect, problems):
    try:
        import torch
    except ImportError as error:
        raise CaptureError("--gpu needs torch") from error
    import triton.testing
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
    hold_back_benchmarks(triton.testing, gate)
    remember_addresses(torch, torch_memory)
    replays = count_replays(torch.cuda.CUDAGraph)
    children = processes.watch(recorder)
    knobs = getattr(getattr(triton, "knobs", None), "nvidia", None)
    if hasattr(knobs, "use_triton_dispatcher"):
        knobs.use_triton_dispatcher = False  # a path in C that passes the launcher by
    os.environ.setdefault("TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", "0")  # torch.compile's, likewise
    observer = Observer(torch) if arguments.record else None
    driver.launcher_cls = launcher_class(driver.launcher_cls, recorder, there, gate, problems, observer,
                                         torch.cuda.is_current_stream_capturing)  # fmt: skip
    status = session.run_program(arguments.program)
    return session.report(recorder, status, children.remarks() + session.remarks_on_replays(len(replays)))
