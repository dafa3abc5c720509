# SPDX-License-Identifier: Apache-2.0
"""Golden records, as `turnstile golden verify` reads them (golden/record_json.cc): what a GPU made of a launch."""

import hashlib
import json
import math
import re

from turnstile_capture import memory

FULL_OUTPUT_LIMIT = 64 * 1024  # bytes up to which an output is kept in full; of larger ones only digests


def record_name(entry, case):
    safe = [re.sub(r"[^0-9A-Za-z\-_=+.]|^\.", "_", name) or "default" for name in (entry, case)]
    return f"golden/records/{safe[0]}/{safe[1]}.json"


def _output(buffer, data):
    columns = buffer.shape[-1]
    rows = math.prod(buffer.shape[:-1])
    width = columns * memory.WIDTHS[buffer.type]
    lines = [data[row * width : (row + 1) * width] for row in range(rows)]
    out = {"buffer": buffer.name, "type": buffer.type, "rows": rows, "columns": columns,
           "sha256": hashlib.sha256(data).hexdigest(),
           "row_digests": [hashlib.sha256(line).hexdigest()[:16] for line in lines]}  # fmt: skip
    if 0 < len(data) <= FULL_OUTPUT_LIMIT:
        out["elements"] = [line.hex() for line in lines]
    return out


def record_text(launch, code, gpu, run, outputs):
    """`gpu` and `run` as in the record; `outputs`: buffer name -> bytes after the launch."""
    given = [(buffer, buffer.portable_contents()) for buffer in launch.buffers]
    inputs = [{"buffer": buffer.name, "bytes": len(contents), "sha256": hashlib.sha256(contents).hexdigest(),
               "origin": launch.values_files.get(buffer.name, "zeros seed 0 stream 0")}
              for buffer, contents in given]  # fmt: skip
    document = {
        "turnstile_golden": 1, "launch": "launch.toml", "case": launch.cases[0], "vars": {},
        "kernel": {"entry": launch.entry, "ptx": launch.kernel_file, "ptx_sha256": hashlib.sha256(code.encode()).hexdigest(),
                   "source": "", "source_sha256": ""},
        "inputs": inputs, "gpu": gpu, "run": run,
        "outputs": [_output(buffer, outputs[buffer.name]) for buffer in launch.buffers if buffer.name in outputs],
    }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"
