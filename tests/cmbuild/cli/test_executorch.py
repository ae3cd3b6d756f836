"""--executor executorch: the whole way from a stand-in checkout to a verified run."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from harness.checkout import environment, make_checkout
from harness.commands import PROGRAMS, Commands

from cmbuild.cache.fingerprint import digest

PROGRAM = PROGRAMS / "two_inputs.pte"


@pytest.fixture
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At one place in all tests, so that what a test compiles is in the cache of the next one."""
    place = tmp_path_factory.getbasetemp() / "upstream"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return make_checkout(place)


@pytest.fixture
def upstream(cmbuild: Commands, checkout: Path) -> Commands:
    """cmbuild with a checkout."""
    variables = {**environment(), "EXECUTORCH_ROOT": str(checkout), "CMSIS_NN_ROOT": ""}
    return replace(cmbuild, environment={**cmbuild.environment, **variables})


def run(upstream: Commands, *words: str | Path):
    options = ("--board", "native", "--executor", "executorch", "--json")
    return upstream("run", PROGRAM, *options, *words)


def test_a_program_runs_with_the_real_runtime(upstream: Commands, checkout: Path) -> None:
    before = digest(checkout)
    first = run(upstream, "-n", "3")
    assert first.exit_code == 0, first.stderr
    document = first.document
    assert (document["verified"], document["samples"]) == (True, 3)
    assert document["executor"] == "executorch"
    assert {"checkout", "operators", "upstream", "pools", "runner"} <= first.done
    assert digest(checkout) == before

    second = run(upstream, "-n", "3")
    assert second.done == {"checkout", "simulate"}

    source = checkout / "backends" / "cortex_m" / "kernels.cpp"
    source.write_text(source.read_text() + "// Changed.\n")
    third = run(upstream, "-n", "3")
    assert third.done == {"checkout", "upstream", "pools", "runner", "simulate"}

    # Programs with the same needs share the libraries.
    shutil.copy(PROGRAM, upstream.folder / "other.pte")
    other = upstream("run", "other.pte", "--board", "native", "--executor", "executorch", "--json")
    assert other.states["upstream"] == "cached"
    assert {"operators", "pools", "runner"} <= other.done


@pytest.mark.long
def test_only_portable_kernels_in_need_are_linked(upstream: Commands) -> None:
    """One of the stand-ins for them does not compile."""
    words = ("--board", "native", "--executor", "executorch", "--json")
    result = upstream("run", PROGRAMS / "two_methods.pte", *words)
    assert result.exit_code == 0, result.stderr


def test_images_run_on_boards_beside_static_ones(upstream: Commands) -> None:
    """With a stand-in for the runtime, whose sources are not available, in position-independent
    code as upstream's: start-up, constructors, memory, and what C++ asks of a system."""
    words = ("--models", PROGRAM, "--boards", "corstone300,microbit", "--executor", "both")
    result = upstream("bench", *words, "--json")
    cells = result.document["cells"]
    assert [cell["failure"] for cell in cells] == [None] * 4
    assert result.exit_code == 0
    assert [cell["executor"] for cell in cells] == ["static", "executorch"] * 2
    for static, loaded in zip(cells[::2], cells[1::2], strict=True):
        assert (static["verified"], loaded["verified"], loaded["rule"]) == (True, True, "exact")
        assert loaded["memory"]["flash"]["code"] > static["memory"]["flash"]["code"]
        ram = loaded["memory"]["ram"]
        assert ram["arena"] == 112
        assert [pool["name"] for pool in ram["pools"]] == ["method", "temporary"]
        assert all(0 < pool["used"] <= pool["size"] for pool in ram["pools"])
        assert loaded["instructions"] > 1000


@pytest.mark.long
def test_a_board_without_a_simulator_can_be_built_for(upstream: Commands) -> None:
    words = ("--board", "nrf52840dk", "--executor", "executorch", "--json")
    result = upstream("build", PROGRAMS / "two_inputs.pte", *words)
    assert result.exit_code == 0, result.stderr
    assert {"pools", "runner"} <= result.done
    assert Path(result.document["artifacts"]["image"]).is_file()


def test_the_checkout_may_be_named_by_the_project(upstream: Commands, checkout: Path) -> None:
    (upstream.folder / "cmbuild.toml").write_text(f'[executorch]\nroot = "{checkout}"\n')
    (checkout / "version.txt").write_text("0.7.0\n")
    variables = {**upstream.environment, "EXECUTORCH_ROOT": ""}
    result = run(replace(upstream, environment=variables))
    assert result.exit_code == 2
    assert "is ExecuTorch 0.7.0" in result.document["error"]


def refused(upstream: Commands, *words: str | Path) -> tuple[int, str, str]:
    document = run(upstream, *words).document
    return document["exit_code"], document["error"], document["hint"]


def test_no_checkout_at_all(upstream: Commands) -> None:
    bare = replace(upstream, environment={**upstream.environment, "EXECUTORCH_ROOT": ""})
    code, error, hint = refused(bare)
    assert (code, error) == (
        3,
        "--executor executorch needs a checkout of ExecuTorch",
    )
    assert hint.startswith("git clone --branch v1.5.1 --depth 1 https://github.com/pytorch/")


def test_another_version(upstream: Commands, checkout: Path) -> None:
    (checkout / "version.txt").write_text("1.7.0a0\n")
    code, error, hint = refused(upstream)
    assert code == 2
    assert error == f"{checkout} is ExecuTorch 1.7.0a0, but programs are exported with 1.5.1"
    assert hint.endswith(f"git -C {checkout} checkout v1.5.1")


def test_an_empty_submodule(upstream: Commands, checkout: Path) -> None:
    shutil.rmtree(checkout / "third-party" / "flatcc")
    assert refused(upstream) == (
        3,
        f"{checkout} lacks third-party/flatcc",
        f"git -C {checkout} submodule update --init --depth 1 third-party/flatcc",
    )


def test_a_folder_of_another_name(upstream: Commands, checkout: Path) -> None:
    moved = checkout.rename(checkout.with_name("et"))
    code, error, hint = refused(upstream, "--executorch-root", moved)
    assert (code, error) == (
        2,
        f"{moved} is not a checkout of ExecuTorch: the folder must be called executorch",
    )
    assert hint.endswith(f"mv {moved} {checkout}")


def test_no_folder_at_all(upstream: Commands, checkout: Path) -> None:
    code, error, _ = refused(upstream, "--executorch-root", checkout / "nowhere")
    assert code == 2
    assert error.endswith("is not a checkout of ExecuTorch: no such folder")


def test_an_operator_that_the_checkout_lacks(upstream: Commands, checkout: Path) -> None:
    declarations = checkout / "backends" / "cortex_m" / "ops" / "operators.yaml"
    text = declarations.read_text()
    declarations.write_text(text.replace("cortex_m::minimum.out", "cortex_m::least.out"))
    code, error, _ = refused(upstream)
    assert (code, error) == (1, f"{checkout} does not have a kernel for cortex_m::minimum.out")


def test_quantised_ports_are_refused(upstream: Commands) -> None:
    code, error, _ = refused(upstream, "--io", "int8")
    assert (code, error) == (2, "--io int8 is not supported by --executor executorch")


def test_the_first_instruction_that_differs_is_named(upstream: Commands, checkout: Path) -> None:
    file = checkout / "backends" / "cortex_m" / "kernels.cpp"
    file.write_text(file.read_text().replace("std::min(x[i], y[i])", "std::max(x[i], y[i])"))
    code, error, hint = refused(upstream)
    assert code == 1
    assert error == (
        "1 of 1 samples differ from the reference, first at op 4, minimum "
        "(cortex_m::minimum.out #4): 6 of 6 elements"
    )
    assert "--executor static" in hint


def test_a_build_that_fails_is_told(upstream: Commands, checkout: Path) -> None:
    file = checkout / "backends" / "cortex_m" / "kernels.cpp"
    file.write_text("#error broken\n")
    code, error, hint = refused(upstream)
    assert code == 1
    assert "ninja failed with status 1" in error and "#error broken" in error
    assert "build.log" in hint


def test_a_folder_that_is_not_cmsis_nn(upstream: Commands, tmp_path: Path) -> None:
    variables = {**upstream.environment, "CMSIS_NN_ROOT": str(tmp_path / "nn")}
    code, error, _ = refused(replace(upstream, environment=variables))
    assert code == 2
    assert error == f"{tmp_path / 'nn'} is not CMSIS-NN: Include/arm_nnfunctions.h not found"


def test_a_program_for_another_core_is_refused(upstream: Commands) -> None:
    words = ("--board", "native", "--executor", "executorch", "--json")
    document = upstream("run", PROGRAMS / "network.pte", *words).document
    assert document["exit_code"] == 1
    assert document["error"] == (
        "cortex_m::quantized_linear.out #3: it has a kernel_sum, scalar needs none: "
        "the program was exported for another core"
    )
