# SPDX-License-Identifier: Apache-2.0
"""Saves every launch of a Triton, Gluon or TLX program as a folder that `turnstile check` takes."""

__version__ = "0.1.0"


class CaptureError(Exception):
    """Something that the user can change; shown as one line, without a traceback."""
