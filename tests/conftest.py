"""Nothing here may reach outside: no telemetry, no analytics, no Hub but the one on loopback that test_hub starts."""

import os
import signal

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ.pop("ALPHAZERO_PRECISION", None)  # a shell may have it; what is tested should not depend on it


# A shell that starts us in the background makes us deaf to Ctrl-C, and our children too; tests of it need ears.
signal.signal(signal.SIGINT, signal.default_int_handler)
