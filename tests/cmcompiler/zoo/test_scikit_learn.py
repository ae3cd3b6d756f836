from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.errors import MissingPackage
from cmcompiler.zoo import _scikit_learn


def test_its_data_sets_are_read_as_it_reads_them():
    # Takes seconds, which every process that collects tests would spend.
    from sklearn.datasets import load_digits, load_sample_images

    pixels, digits = _scikit_learn.handwritten_digits()
    expected = load_digits()
    assert np.array_equal(pixels, expected.images)
    assert np.array_equal(digits, expected.target)
    photographs = [np.asarray(picture) for picture in _scikit_learn.photographs()]
    assert np.array_equal(photographs, load_sample_images().images)


def test_it_is_missing(monkeypatch):
    monkeypatch.setattr(_scikit_learn, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="No module named 'sklearn'"):
        _scikit_learn.handwritten_digits()
