"""The Rust example of docs/packages.md, with a package on this computer."""

from __future__ import annotations

import shutil

import pytest
from harness.commands import NETWORK, Commands
from harness.packages import documented, run

_MAIN = """
fn main() {
    static mut MODEL: Model = Model::new();
    let model = unsafe { &mut *core::ptr::addr_of_mut!(MODEL) };
    assert!(model.run(&[0.0; KWS_INPUT_0_COUNT as usize]).is_none());
    assert!(model.start());
    let scores = model.run(&[0.0; KWS_INPUT_0_COUNT as usize]).unwrap().to_vec();
    assert_eq!(model.run(&[0.0; KWS_INPUT_0_COUNT as usize]).unwrap(), &scores[..]);
    assert!(scores.iter().all(|score| score.is_finite()));
    println!("{}", scores.len());
}
"""


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("bindgen") is None or shutil.which("rustc") is None,
    reason="bindgen or rustc is not installed",
)
def test_the_example_works(cmbuild: Commands) -> None:
    words = ("--isa", "scalar", "--target", "cortex-m33", "--name", "kws", "-o", "kws")
    assert cmbuild("package", NETWORK, *words).exit_code == 0
    folder = cmbuild.folder
    header, package = folder / "kws/kws.h", folder / "kws"
    options = ("--use-core", "--ctypes-prefix", "core::ffi", "--size_t-is-usize")
    run("bindgen", header, *options, "-o", folder / "bindings.rs", "--", f"-I{package}")
    (folder / "main.rs").write_text(documented("rust") + _MAIN)
    objects = []
    for file in (*package.glob("*.[cS]"), *package.glob("runtime/*.c")):
        objects.append(folder / f"{file.name}.o")
        run("gcc", "-O1", f"-I{package}", "-c", file, "-o", objects[-1])
    run("ar", "rcs", folder / "libkws.a", *objects)
    link = ("-L", folder, "-l", "static=kws", "-l", "m")
    run("rustc", "--edition", "2021", folder / "main.rs", *link, "-o", folder / "program")
    assert run(folder / "program") == "3\n"
