# SPDX-License-Identifier: Apache-2.0
"""From Python to a launch file with the triton of this environment; skipped where there is none."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest

import fakes

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, alpha, flag, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n) * alpha
    if flag:
        v += tl.load(y + i, i < n)
    tl.store(out + i, v, i < n)


@triton.jit
def sums(x, offsets, out):
    total = 0.0
    for i in range(tl.load(offsets + tl.program_id(0)), tl.load(offsets + tl.program_id(0) + 1)):
        total += tl.load(x + i)
    tl.store(out + tl.program_id(0), total)


@triton.jit
def multiply(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c.store([m, n], acc.to(tl.bfloat16))
"""

PROGRAM = """
import torch
import triton
from kernels import add

tuned = triton.autotune([triton.Config({"B": 128}), triton.Config({"B": 256}, num_warps=8)], key=["n"])(add)
x, y = torch.randn(5000, device="cuda"), torch.randn(5000, device="cuda")
out = torch.empty_like(x)
for _ in range(3):
    tuned[lambda meta: (triton.cdiv(5000, meta["B"]),)](x, y, out, 5000, 0.5, True)
torch.testing.assert_close(out, x * 0.5 + y)
"""


def has(module):
    return importlib.util.find_spec(module) is not None


@unittest.skipUnless(has("triton"), "no triton here")
class Programs(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = self._temporary.name
        for name, text in (("kernels.py", KERNELS), ("program.py", PROGRAM)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def tearDown(self):
        self._temporary.cleanup()

    def capture(self, *words, code=0):
        package = os.path.dirname(os.path.dirname(os.path.abspath(fakes.__file__)))
        paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        environment = dict(os.environ, PYTHONPATH=paths, TRITON_CACHE_DIR=os.path.join(self.folder, "cache"))
        out = os.path.join(self.folder, "out")
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", "turnstile_capture", "--out", out, *words], check=False,
                              cwd=self.folder, env=environment, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stderr)
        if code == 2:
            return done.stderr
        with open(os.path.join(out, "index.json"), encoding="utf-8") as file:
            index = json.load(file)["launches"]
        launches = []
        for entry in index:
            with open(os.path.join(out, entry["folder"], "launch.toml"), "rb") as file:
                launches.append(tomllib.load(file))
            with open(os.path.join(out, entry["folder"], launches[-1]["kernel"]), encoding="utf-8") as file:
                self.assertIn("kernels.py", file.read())  # lines of the source
        return launches

    def test_one_kernel(self):
        (launch,) = self.capture("--target", "sm_90a", "--kernel", "kernels.py:add", "--grid", "4", "--constexpr", "B=256", "--signature",
                                 "x=*fp32[1024], y=*fp32[1024], out=*fp32[1024], n=i32:1000, alpha=fp32:0.5, flag=i1:True")  # fmt: skip
        self.assertEqual([(b["name"], b["role"]) for b in launch["buffers"]], [("x", "in"), ("y", "in"), ("out", "out")])
        self.assertEqual(launch["params"][3:6], [{"s32": 1000}, {"f32": 0.5}, {"u8": 1}])

    def test_values_of_an_array(self):
        (launch,) = self.capture("--target", "sm_90a", "--kernel", "kernels.py:sums", "--grid", "3", "--signature",
                                 "x=*fp32[64], offsets=*i32[4]:[0,5,5,64], out=*fp32[3]")  # fmt: skip
        offsets = launch["buffers"][1]
        self.assertEqual((offsets["control_data"], offsets["shape"]), (True, [4]))
        with open(os.path.join(self.folder, "out", "000_sums", offsets["values"]), "rb") as file:
            self.assertEqual(file.read()[-16:], b"".join(n.to_bytes(4, "little") for n in (0, 5, 5, 64)))
        self.assertNotIn("values", launch["buffers"][0])

    def test_too_few_values_of_an_array(self):
        self.assertIn("only arrays of integers", self.capture("--target", "sm_90a", "--kernel", "kernels.py:sums", "--signature",
                                                              "x=*fp32[64], offsets=*i32[4]:[0,5], out=*fp32[3]", code=2))  # fmt: skip

    def test_descriptors(self):
        for target in ("sm_90a", "sm_100a"):
            (launch,) = self.capture("--target", target, "--kernel", "kernels.py:multiply", "--grid", "2,2", "--constexpr",
                                     "BM=128,BN=128,BK=64", "--option", "num_warps=4", "--signature",
                                     "a=tensordesc<bf16[128,64]>[256,512], b=tensordesc<bf16[64,128]>[512,256], "
                                     "c=tensordesc<bf16[128,128]>[256,256], K=i32:512")  # fmt: skip
            self.assertEqual([m["dims"] for m in launch["tensor_maps"]], [[512, 256], [256, 512], [256, 256]])
            self.assertEqual(launch["tensor_maps"][0]["box"], [64, 128])
            self.assertEqual(launch["buffers"][2]["role"], "out")
            self.assertNotIn("shared", launch)  # the compiler made all of it
            self._temporary.cleanup()
            self.setUp()

    def test_errors(self):
        self.assertIn("no kernel nothing", self.capture("--target", "sm_90a", "--kernel", "kernels.py:nothing", "--signature",
                                                        "n=i32:1", code=2))  # fmt: skip
        self.assertIn("no such file", self.capture("--target", "sm_90a", "--", "missing.py", code=2))

    @unittest.skipUnless(has("torch"), "no torch here")
    def test_a_program(self):
        (launch,) = self.capture("--target", "sm_100a", "--", "program.py")
        self.assertEqual(launch["launch"]["grid"], [40, 1, 1])

    @unittest.skipUnless(has("torch"), "no torch here")
    def test_a_program_with_all_configurations(self):
        launches = self.capture("--target", "sm_100a", "--all-configs", "--", "program.py")
        self.assertEqual([(l["launch"]["grid"][0], l["launch"]["block"][0]) for l in launches], [(40, 128), (20, 256)])


if __name__ == "__main__":
    unittest.main()
