"""Write the JSON Schema of explanations beside the documentation."""

import json
from pathlib import Path

from suffice import explanation_schema

text = json.dumps(explanation_schema(), indent=2, ensure_ascii=False) + "\n"
(Path(__file__).parent / "explanation.schema.json").write_text(text, encoding="utf-8")
