"""`./cmbuildw fuzz --minutes N`: looks for programs that crash, hang, or come out wrong."""

from __future__ import annotations

import argparse
import time
from hashlib import sha256
from pathlib import Path

from harness.images import kernel_harness
from harness.runtime import Machine

from cmcompiler.importer.suffixes import PROGRAMS, PTE, TFLITE
from cmcompiler.isa import Isa
from cmcompiler.tflite.reader import is_tflite
from fuzz import headers, plans
from fuzz.campaign import SLICE, Campaign, Finding, Report, fails_alike
from fuzz.files import Tally, fuzz_files, line
from fuzz.journal import Journal
from fuzz.minimise import minimise

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser("./cmbuildw fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--mutants", type=int, help="stop after so many, in whole slices")
    parser.add_argument("--log", type=Path, help="slices done; go on after those it has")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--files", type=int, help="so many files of users and caches instead")
    parser.add_argument("--headers", type=int, help="so many packages' headers instead")
    parser.add_argument("--plans", type=int, help="plans of so many random graphs instead")
    parser.add_argument("--corpus", type=Path, default=FOLDER, help="gets what is found")
    parser.add_argument("--only", choices=PROGRAMS, help="programs of one format")
    given = parser.parse_args()
    if given.files:
        return _fuzz_files(given.files, given.seed)
    if given.headers:
        return _fuzz_headers(given.headers, given.seed)
    given.corpus.mkdir(parents=True, exist_ok=True)
    if given.plans:
        return _fuzz_plans(given.plans, given.seed, given.corpus)
    harnesses = {
        Isa.SCALAR: kernel_harness("native", "scalar", given.corpus),
        Isa.DSP: kernel_harness("corstone300", "dsp", given.corpus),
        Isa.MVE: kernel_harness("corstone300", "mve", given.corpus),
    }
    formats = (given.only,) if given.only else PROGRAMS
    size = min(SLICE, given.mutants or SLICE)
    campaign = Campaign(harnesses, given.corpus, given.seed, given.workers, formats, size)
    journal, start = Journal(given.log), time.monotonic()
    total, known = Report(), journal.done(campaign)
    for report in known.values():
        total.add(report)
    if known:
        print(f"{_counts(total)}; done before", flush=True)
    deadline = start + 60 * given.minutes
    for ended in campaign.slices(journal.left(campaign, given.mutants), deadline):
        journal.add(campaign, ended)
        total.add(ended.report)
        print(f"{time.monotonic() - start:.0f} s: {_counts(total)}", flush=True)
        for signature, finding in ended.report.findings.items():
            print(f"slice {ended.number}: {signature}", flush=True)
            _keep(finding, campaign, given.corpus)
    return 1 if total.findings else 0


def _fuzz_plans(count: int, seed: int, folder: Path) -> int:
    tally, start = plans.Tally(), time.monotonic()
    boards = {Isa.SCALAR: "native", Isa.DSP: "corstone300", Isa.MVE: "corstone300"}
    machines = {
        isa: Machine(isa.label, kernel_harness(board, isa.label, folder), isa, folder)
        for isa, board in boards.items()
    }
    plans.fuzz_plans(count, seed, machines, tally)
    print(plans.line(tally, time.monotonic() - start))
    for signature, details in tally.findings.items():
        print(f"{signature}\n{details}")
    return 1 if tally.findings else 0


def _fuzz_headers(count: int, seed: int) -> int:
    tally, start = headers.Tally(), time.monotonic()
    headers.fuzz_headers(count, seed, tally)
    print(headers.line(tally, time.monotonic() - start))
    for signature, details in tally.findings.items():
        print(f"{signature}\n{details}")
    return 1 if tally.findings else 0


def _fuzz_files(count: int, seed: int) -> int:
    tally, start = Tally(), time.monotonic()
    fuzz_files(count, seed, tally)
    print(line(tally, time.monotonic() - start))
    for signature, details in tally.findings.items():
        print(f"{signature}\n{details}")
    return 1 if tally.findings else 0


def _counts(report: Report) -> str:
    counts = ", ".join(f"{report.kinds[kind]:,} {kind}" for kind in sorted(report.kinds))
    return f"{report.mutants:,} mutants: {counts}"


def _keep(finding: Finding, campaign: Campaign, folder: Path) -> None:
    file = folder / f"{sha256(finding.signature.encode()).hexdigest()[:8]}{PTE}"
    if is_tflite(finding.data):
        file = file.with_suffix(TFLITE)
    if file.exists():
        return
    smallest = finding.data
    if finding.signature not in ("hangs", "the process died"):
        smallest = minimise(finding.data, lambda data: fails_alike(finding, campaign, data))
    file.write_bytes(smallest)
    file.with_suffix(".txt").write_text(
        f"{finding.signature}\nseed {finding.seed}\n{finding.details}\n"
    )
    print(f"{file}: {finding.signature}", flush=True)


raise SystemExit(main())
