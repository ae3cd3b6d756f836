from executorch.backends.cortex_m import what_is_not_there  # noqa: F401


def test_never_seen():
    pass
