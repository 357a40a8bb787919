"""Nothing here may reach outside: no telemetry, no analytics, no Hub but the one on loopback that test_hub starts."""

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
