"""The installed wheel in an environment with nothing else: `make wheel` runs this outside of the checkout."""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import minrisk
from minrisk import MinRiskClassifier, costs, load, save


def main():
    assert "site-packages" in minrisk.__file__, minrisk.__file__
    assert metadata.version("minrisk") == minrisk.__version__
    assert (Path(minrisk.__file__).parent / "py.typed").is_file()
    X, y = load_wine(return_X_y=True)
    model = MinRiskClassifier(costs.with_reject(costs.uniform(3), 0.1), n_estimators=20, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.9
    with tempfile.TemporaryDirectory() as folder:
        save(model, f"{folder}/wine.minrisk")
        assert np.array_equal(load(f"{folder}/wine.minrisk").predict(X), model.predict(X))
    told = subprocess.run([sys.executable, "-m", "minrisk", "--help"], capture_output=True, text=True)
    assert "minrisk[cli]" in told.stdout + told.stderr or told.returncode == 0, told.stderr
    assert "Traceback" not in told.stderr
    print(f"minrisk {minrisk.__version__}: the wheel fits, decides, saves and loads")


if __name__ == "__main__":
    main()
