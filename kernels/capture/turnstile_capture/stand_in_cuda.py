# SPDX-License-Identifier: Apache-2.0
"""torch.cuda without a GPU: a device of the target's properties, streams and events that do nothing, and CUDA graphs whose
launches are recorded while they are captured."""

import types


def constant(value):
    """A function of its own for each name: torch's compiler refuses two names of one function."""
    return lambda *args, **kwargs: value


def nothing(self, *args, **kwargs):
    return None


class Guard:
    """`with`: a device, a stream, a graph that is captured."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


class Event:
    def __init__(self, *args, **kwargs):
        pass

    record = wait = synchronize = nothing
    query = staticmethod(lambda: True)
    elapsed_time = staticmethod(lambda other: 1.0)


class Stream(Guard):
    cuda_stream = 0
    synchronize = wait_stream = wait_event = nothing
    query = staticmethod(lambda: True)

    def record_event(self, event=None):
        return event or Event()


def graph_class(replays):
    class CUDAGraph:
        def __init__(self, *args, **kwargs):
            pass

        def replay(self):
            replays.append(1)

        def pool(self):
            return (0, 0)

        capture_begin = capture_end = instantiate = reset = enable_debug_mode = debug_dump = nothing

    return CUDAGraph


def properties_of(target):
    major, minor = target.capability
    return types.SimpleNamespace(
        name=target.name, major=major, minor=minor, multi_processor_count=target.multiprocessors,
        total_memory=target.memory, shared_memory_per_block=49152, warp_size=target.warp_size,
        shared_memory_per_block_optin=target.shared_memory, shared_memory_per_multiprocessor=target.shared_memory + 1024,
        max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, L2_cache_size=50 << 20,
        gcnArchName=str(target.arch) if target.backend == "hip" else "", is_integrated=0, is_multi_gpu_board=0)  # fmt: skip


def install(torch, target, device):
    """Puts all this in the place of torch.cuda's. Returns a list that grows with each replay of a CUDA graph."""
    cuda, replays = torch.cuda, []
    stream_class = type("Stream", (Stream,), {"device": device})
    stream = stream_class()
    values = {
        "is_available": True, "is_initialized": True, "device_count": 1, "init": None, "current_device": 0,
        "set_device": None, "synchronize": None, "empty_cache": None, "get_device_name": target.name,
        "get_device_capability": target.capability, "get_device_properties": properties_of(target),
        "current_stream": stream, "default_stream": stream, "set_stream": None, "is_bf16_supported": True,
        "memory_allocated": 0, "mem_get_info": (target.memory, target.memory), "max_memory_allocated": 0,
        "memory_reserved": 0, "max_memory_reserved": 0, "reset_peak_memory_stats": None, "manual_seed": None,
        "manual_seed_all": None, "_lazy_init": None, "is_current_stream_capturing": False, "graph_pool_handle": (0, 0),
    }  # fmt: skip
    answers = {name: constant(value) for name, value in values.items()}
    answers |= {"Stream": stream_class, "ExternalStream": type("ExternalStream", (stream_class,), {}), "Event": Event,
                "CUDAGraph": graph_class(replays), "make_graphed_callables": lambda callables, *args, **kwargs: callables}  # fmt: skip
    answers |= {name: type(name, (Guard,), {}) for name in ("stream", "device", "device_of", "graph")}
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
    return replays
