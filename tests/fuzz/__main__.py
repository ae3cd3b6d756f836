"""`./cmbuildw fuzz --minutes N`: looks for programs that crash, hang, or come out wrong."""

from __future__ import annotations

import argparse
import time
from hashlib import sha256
from pathlib import Path

from harness.images import kernel_harness

from cmcompiler.importer.suffixes import PROGRAMS, PTE, TFLITE
from cmcompiler.isa import Isa
from cmcompiler.tflite.reader import is_tflite
from fuzz import headers
from fuzz.campaign import Campaign, Finding, Report, fails_alike
from fuzz.files import Tally, fuzz_files, line
from fuzz.minimise import minimise

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser("./cmbuildw fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--mutants", type=int, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--files", type=int, help="so many files of users and caches instead")
    parser.add_argument("--headers", type=int, help="so many packages' headers instead")
    parser.add_argument("--corpus", type=Path, default=FOLDER, help="gets what is found")
    parser.add_argument("--only", choices=PROGRAMS, help="programs of one format")
    given = parser.parse_args()
    if given.files:
        return _fuzz_files(given.files, given.seed)
    if given.headers:
        return _fuzz_headers(given.headers, given.seed)
    given.corpus.mkdir(parents=True, exist_ok=True)
    harnesses = {
        Isa.SCALAR: kernel_harness("native", "scalar", given.corpus),
        Isa.DSP: kernel_harness("corstone300", "dsp", given.corpus),
        Isa.MVE: kernel_harness("corstone300", "mve", given.corpus),
    }
    formats = (given.only,) if given.only else PROGRAMS
    campaign = Campaign(harnesses, given.corpus, given.seed, given.workers, formats)
    start, known = time.monotonic(), 0
    for report in campaign.rounds():
        seconds = time.monotonic() - start
        if len(report.findings) > known or int(seconds) % 60 < 2:
            print(_line(report, seconds), flush=True)
        known = len(report.findings)
        if seconds > 60 * given.minutes or (given.mutants and report.mutants >= given.mutants):
            break
    print(_line(report, seconds), flush=True)
    for finding in report.findings.values():
        _keep(finding, campaign, given.corpus)
    return 1 if report.findings else 0


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


def _line(report: Report, seconds: float) -> str:
    counts = ", ".join(f"{report.kinds[kind]:,} {kind}" for kind in sorted(report.kinds))
    return f"{seconds:.0f} s: {report.mutants:,} mutants: {counts}; {len(report.findings)} findings"


def _keep(finding: Finding, campaign: Campaign, folder: Path) -> None:
    smallest = finding.data
    if finding.signature not in ("hangs", "the process died"):
        smallest = minimise(finding.data, lambda data: fails_alike(finding, campaign, data))
    file = folder / f"{sha256(finding.signature.encode()).hexdigest()[:8]}{PTE}"
    if is_tflite(smallest):
        file = file.with_suffix(TFLITE)
    file.write_bytes(smallest)
    file.with_suffix(".txt").write_text(
        f"{finding.signature}\nseed {finding.seed}\n{finding.details}\n"
    )
    print(f"{file}: {finding.signature}", flush=True)


raise SystemExit(main())
