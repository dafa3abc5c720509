# SPDX-License-Identifier: Apache-2.0
"""One capture: takes over triton, runs the program, tells what was caught."""

import importlib.util
import os
import runpy
import sys
import traceback

from turnstile_capture import CaptureError, processes, stand_in
from turnstile_capture.recorder import Recorder
from turnstile_capture.versions import dialect_of


class Problems:
    """Launches that could not be saved, or not in full; the program goes on."""

    def __init__(self):
        self.recorder = None
        self._seen = set()

    def __call__(self, kernel, error, consequence="is not saved"):
        text = str(error) if isinstance(error, CaptureError) else f"{type(error).__name__}: {error}"
        if (kernel, text) in self._seen:
            return
        self._seen.add((kernel, text))
        self.recorder.problems.append({"kernel": kernel, "problem": text})
        self.recorder.write_index()
        print(f"turnstile-capture: {kernel} {consequence}: {text}", file=sys.stderr)
        if not isinstance(error, CaptureError) and os.environ.get("TURNSTILE_CAPTURE_DEBUG"):
            traceback.print_exception(error)


def label():
    """What launches are known by: the running pytest case, if there is one."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0]


def import_triton():
    if importlib.util.find_spec("triton") is None:
        raise CaptureError("this Python has no triton: install turnstile-capture where your triton is")
    import triton

    return triton, dialect_of(triton.__version__)


def take_over(triton, target, recorder, torch_device, problems, all_configurations):
    """Puts the stand-in driver in the place of triton's own."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner

    stand_in.remember_kernels(CompiledKernel)
    gpu_target = GPUTarget(target.backend, target.arch, target.warp_size)
    driver = stand_in.make_driver(DriverBase, gpu_target, target, recorder, torch_device, problems)
    triton.runtime.driver.set_active(driver)
    stand_in.limit_autotuning(Autotuner, all_configurations)
    import triton.testing

    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, stand_in.benchmark_once)


def run_program(words):
    """Exit code of the program, which sees the arguments and the path that it would see without us."""
    try:
        if words[0] == "-m":
            if len(words) < 2:
                raise CaptureError("-m needs the name of a module")
            sys.argv = words[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            if not os.path.isfile(words[0]):
                raise CaptureError(f"{words[0]}: no such file")
            sys.argv = list(words)
            sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except CaptureError:
        raise
    except BaseException:  # noqa: BLE001 - whatever ends the program, what was captured stays
        traceback.print_exc()
        return 1
    return 0


def remarks_on_replays(count):
    """CUDA graphs: what a replay launches passes every launcher by."""
    return [f"{count} replays of CUDA graphs: their launches are saved as they were captured, once"] if count else []


def report(recorder, status, remarks=()):
    caught = recorder.launches
    recorder.write_index()
    times = sum(entry["times"] for entry in caught)
    forked, forked_problems = recorder.children()
    lines = [f"{len(caught)} different launches of {times} saved"]
    if forked or forked_problems:
        lines.append(f"{forked} launches of forked processes saved in process_* of the same folder")
    lines += remarks
    if status:
        lines.append(f"the program ended with exit code {status}")
    for line in lines:
        print(f"turnstile-capture: {line}", file=sys.stderr)
    problems = len(recorder.problems) + forked_problems
    if not caught and not forked and not problems:
        return 3 if status == 0 else 1
    return 1 if status or problems else 0


def run(arguments, target):
    triton, dialect = import_triton()
    problems = Problems()
    if arguments.gpu:
        from turnstile_capture import gpu

        return gpu.run(arguments, target, triton, dialect, problems)
    if arguments.kernel:
        from turnstile_capture import single

        return single.run(arguments, target, triton, dialect, problems)
    world, stand_in_torch = None, None
    if importlib.util.find_spec("torch") is not None:
        import torch

        from turnstile_capture.stand_in_torch import StandInTorch

        stand_in_torch = StandInTorch(torch, target)
        world = stand_in_torch.memory
    else:
        from turnstile_capture.single import PlainMemory

        world = PlainMemory()
    recorder = problems.recorder = Recorder(arguments.out, target, dialect, world, label)

    def torch_device():
        if stand_in_torch is None:
            raise CaptureError("the program asks for a torch device, but there is no torch")
        return stand_in_torch.torch.device("cuda", 0)

    take_over(triton, target, recorder, torch_device, problems, arguments.all_configs)
    if stand_in_torch is not None:
        stand_in_torch.install()
    children = processes.watch(recorder)
    status = run_program(arguments.program)
    return report(recorder, status, children.remarks() + (stand_in_torch.remarks() if stand_in_torch else []))
