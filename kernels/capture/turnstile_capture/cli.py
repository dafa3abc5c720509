# SPDX-License-Identifier: Apache-2.0
"""turnstile-capture: command line."""

import argparse
import sys

from turnstile_capture import CaptureError, __version__
from turnstile_capture.targets import parse_target

EPILOG = """examples:
  turnstile-capture --target sm_100a --out caught -- my_gemm.py --size 4096
  turnstile-capture --target sm_90a --out caught --all-configs -- -m pytest tests/test_attention.py -k causal
  turnstile-capture --target sm_90a --out caught --kernel k.py:add --grid 4 \\
      --signature 'x=*fp32[1024], y=*fp32[1024], out=*fp32[1024], n=i32:1024' --constexpr BLOCK=256

then: turnstile check caught/000_add/launch.toml

exit codes: 0 captured; 1 captured, but the program failed or a launch could not be saved; 2 usage, or a version of
triton that is not known; 3 nothing was launched"""


def parser():
    made = argparse.ArgumentParser(prog="turnstile-capture", epilog=EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description="Runs a Triton, Gluon or TLX program and saves every kernel launch as a "
                                               "folder that `turnstile check` takes; no GPU is needed.")  # fmt: skip
    made.add_argument("--target", help="sm_80 to sm_121 (sm_100a is sm_100), or gfx942, gfx950, gfx1250")
    made.add_argument("--out", required=True, metavar="DIR", help="a new or empty folder")
    made.add_argument("--sms", type=int, metavar="N", help="multiprocessors that the program is told of")
    made.add_argument("--all-configs", action="store_true",
                      help="autotuned kernels: every configuration, not the first that launches")  # fmt: skip
    made.add_argument("--gpu", action="store_true", help="run on the GPU of this machine, recording beside it")
    made.add_argument("--record", action="store_true", help="with --gpu: outputs become golden records")
    made.add_argument("--kernel", metavar="FILE.py:FUNCTION", help="one kernel, without a program and without torch")
    made.add_argument("--signature", metavar="TEXT", help="its arguments: name=*fp32[1024,64] or name=i32:7, by commas")
    made.add_argument("--constexpr", metavar="TEXT", default="", help="its constants: NAME=VALUE, by commas")
    made.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="num_warps=8, num_stages=3, ...")
    made.add_argument("--grid", metavar="X[,Y[,Z]]", default="1", help="with --kernel")
    made.add_argument("--version", action="version", version=f"turnstile-capture {__version__}")
    made.add_argument("program", nargs=argparse.REMAINDER, metavar="-- script.py ARGS | -- -m MODULE ARGS")
    return made


def checked(arguments):
    if arguments.program[:1] == ["--"]:
        del arguments.program[0]
    if bool(arguments.program) == bool(arguments.kernel):
        raise CaptureError("say what to run: `-- script.py`, `-- -m module`, or --kernel FILE.py:FUNCTION")
    if arguments.kernel and not arguments.signature:
        raise CaptureError("--kernel needs --signature")
    if arguments.record and not arguments.gpu:
        raise CaptureError("--record needs --gpu: without one no kernel runs")
    if arguments.gpu and arguments.kernel:
        raise CaptureError("--kernel compiles only; --gpu goes with a program")
    if not arguments.gpu and not arguments.target:
        raise CaptureError("--target is missing, for example --target sm_100a")
    return arguments


def main(words=None):
    arguments = parser().parse_args(words)
    try:
        checked(arguments)
        target = parse_target(arguments.target, arguments.sms) if arguments.target else None
        from turnstile_capture import session

        return session.run(arguments, target)
    except CaptureError as error:
        print(f"turnstile-capture: error: {error}", file=sys.stderr)
        return 2
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
