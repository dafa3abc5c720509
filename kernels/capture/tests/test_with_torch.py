# SPDX-License-Identifier: Apache-2.0
"""torch as a program sees it under capture. Runs where torch is installed; elsewhere it is skipped."""

import importlib.util
import os
import struct
import subprocess
import sys
import unittest

import fakes

PROGRAM = """
import sys
sys.path.insert(0, {package!r})
import torch
from turnstile_capture.stand_in_torch import StandInTorch, ValueNotKnown
from turnstile_capture.targets import parse_target
stand_in = StandInTorch(torch, parse_target("sm_100a"))
stand_in.install()
memory = stand_in.memory

def refused(call):
    try:
        call()
    except ValueNotKnown:
        return True
    return False

def contents(tensor):
    return memory.view_of(tensor).allocation.read()
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "no torch here")
class Torch(unittest.TestCase):
    def run_lines(self, lines):
        """In a process of its own: torch stays taken over for its lifetime."""
        package = os.path.dirname(os.path.dirname(os.path.abspath(fakes.__file__)))
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM.format(package=package) + lines], text=True,
                              capture_output=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_devices(self):
        self.run_lines("""
x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
assert x.is_cuda and x.device == torch.device("cuda", 0) and not x.is_cpu and x.get_device() == 0
y = torch.empty(3, device=x.device, dtype=torch.int32)
assert y.is_cuda and (x @ x).shape == (8192, 8192) and (x @ x).is_cuda
h = torch.ones(3)
assert not h.is_cuda and h.cuda().is_cuda and h.to("cuda").is_cuda and h.to(x).dtype == torch.bfloat16 and h.to(x.device, torch.float16).is_cuda
assert not h.cuda().cpu().is_cuda and h.to(torch.float64).dtype == torch.float64
assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (10, 0)
assert torch.cuda.get_device_properties(0).multi_processor_count == 148
with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda.synchronize()
""")

    def test_integers_keep_their_values(self):
        self.run_lines("""
lengths = torch.tensor([3, 0, 5], device="cuda")
offsets = torch.zeros(4, dtype=torch.int64, device="cuda")
offsets[1:] = lengths.cumsum(0)
assert offsets.tolist() == [0, 3, 3, 8] and int(offsets[-1].item()) == 8 and offsets.is_cuda
import struct
assert contents(offsets) == struct.pack("<4q", 0, 3, 3, 8)
assert contents(torch.zeros_like(torch.randn(5000, device="cuda"), dtype=torch.int32)) == bytes(20000)
""")

    def test_what_is_not_known_is_not_given(self):
        self.run_lines("""
x = torch.randn(100, 100, device="cuda")
assert refused(lambda: x.sum().item()) and refused(lambda: bool(x[0, 0] > 0)) and refused(lambda: x.numpy())
index = x.argmax(dim=1)
assert contents(index) is None and refused(lambda: index.tolist())
empty = torch.empty(4, dtype=torch.int32, device="cuda")
assert contents(empty) is None and refused(lambda: empty.tolist())
empty.zero_()
assert contents(empty) == bytes(16)
known = torch.arange(4, device="cuda")
known[1:3] = index[:2]
assert contents(known) is None
assert contents(torch.arange(4, device="cuda") + index[:4]) is None
""")

    def test_what_a_kernel_wrote_is_not_known_afterwards(self):
        self.run_lines("""
out = torch.zeros(6, dtype=torch.int32, device="cuda")
view = out[2:4]
memory.kernel_wrote([memory.view_of(out).allocation])
assert contents(out) is None and contents(view) is None and refused(lambda: view.tolist()) and refused(lambda: (out + 1).tolist())
torch.testing.assert_close(out, torch.ones(6, dtype=torch.int32, device="cuda"))
assert torch.allclose(out.float(), out.float()) and torch.equal(out, out) and stand_in.skipped == 3
out.fill_(7)
assert view.tolist() == [7, 7]
""")

    def test_comparisons_of_known_values_are_made(self):
        self.run_lines("""
try:
    torch.testing.assert_close(torch.ones(3, dtype=torch.int32, device="cuda"), torch.zeros(3, dtype=torch.int32, device="cuda"))
    raise SystemExit("not compared")
except AssertionError:
    pass
assert not torch.equal(torch.arange(3, device="cuda"), torch.ones(3, dtype=torch.int64, device="cuda"))
""")

    def test_views_and_addresses(self):
        self.run_lines("""
x = torch.randn(64, 128, device="cuda", dtype=torch.float16)
y = torch.randn(64, 128, device="cuda", dtype=torch.float16)
row = x[3:, 8:].t()
view = memory.view_of(row)
assert (view.offset, view.shape, view.strides, view.type) == ((3 * 128 + 8) * 2, (120, 61), (1, 128), "f16")
assert row.data_ptr() == x.data_ptr() + view.offset and view.allocation.key == memory.view_of(x).allocation.key
assert x.data_ptr() % 256 == 0 and abs(x.data_ptr() - y.data_ptr()) >= x.numel() * 2
found = memory.view_at(y.data_ptr() + 100)
assert found.allocation.address == y.data_ptr() and found.allocation.bytes == y.numel() * 2
address = y.data_ptr()
del y
assert memory.view_at(address) is None and memory.view_at(12345) is None
""")

    def test_graphs(self):
        self.run_lines("""
graph, ran = torch.cuda.CUDAGraph(), []
x = torch.zeros(4, dtype=torch.int32, device="cuda")
with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), stream=torch.cuda.Stream()):
    x += 1
for _ in range(3):
    graph.replay()
assert torch.cuda.make_graphed_callables(len, ()) is len
assert stand_in.remarks() == ["3 replays of CUDA graphs: their launches are saved as they were captured, once"]
""")

    def test_tables_of_addresses_lead_to_values(self):
        self.run_lines("""
import struct
a = torch.tensor([5, 6], dtype=torch.int32, device="cuda")
found = memory.view_at(torch.tensor([a.data_ptr()], device="cuda").tolist()[0])
assert found.allocation.read() == struct.pack("<2i", 5, 6)
assert memory.view_at(7) is None
""")

    def test_autograd_goes_through(self):
        self.run_lines("""
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.empty_like(x)
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.empty_like(grad) + x
x = torch.randn(512, 512, device="cuda", requires_grad=True)
out = Twice.apply(x * 2)
out.backward(torch.randn_like(out))
assert x.grad.shape == x.shape and x.grad.is_cuda
""")


if __name__ == "__main__":
    unittest.main()
