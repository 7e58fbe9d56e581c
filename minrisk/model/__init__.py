"""The additive model: what it holds, predicts and decides by."""
