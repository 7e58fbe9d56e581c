"""Models that run elsewhere: in ONNX Runtime, in Treelite's runtimes and in C, or read from a JSON text.

Each format has a library of its own, which is imported when a model is exported: ``pip install 'minrisk[onnx]'`` or
``pip install 'minrisk[treelite]'``. The JSON text needs none.
"""

from minrisk.export.json_text import to_json
from minrisk.export.onnx_model import register_skl2onnx, to_onnx
from minrisk.export.parts import LinearFeatures, linear_features
from minrisk.export.treelite_model import to_treelite

__all__ = ["LinearFeatures", "linear_features", "register_skl2onnx", "to_json", "to_onnx", "to_treelite"]
