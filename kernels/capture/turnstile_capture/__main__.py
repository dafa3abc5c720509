# SPDX-License-Identifier: Apache-2.0
import sys

from turnstile_capture.cli import main

sys.exit(main())
