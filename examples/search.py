"""Searches a family of small networks for the best ones that a board has room and time for.

`python examples/search.py --board mps2-an505 --flash 24K --ram 5K --cycles 250K --candidates 1000`
trains candidates on scikit-learn's digits, on workers. Optuna's genetic algorithm chooses them: for
high accuracy and few cycles, under limits of flash, RAM and cycles. All of them are estimated from
their plans; only the Pareto front runs on the simulated board. `search.html` in the folder has all
of them in one picture.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, Trial, TrialState
from sklearn.datasets import load_digits

import cmbuild

FAMILY = Path(__file__).with_name("search_family.py")

_MOST_REPEATS = 20

Stage = tuple[int, int, bool]
"""Width, kernel, and whether it is separable: see the family."""


@dataclass(frozen=True)
class Limits:
    flash: int
    ram: int
    cycles: int


@dataclass(frozen=True)
class Estimate:
    """Of a candidate.

    Attributes:
        exceeded: by how much, for each limit; negative within it.
    """

    accuracy: float
    cycles: float
    exceeded: Mapping[str, float]


@dataclass(frozen=True)
class Search:
    """Candidates in a folder, each a file that cmbuild takes as a model.

    Attributes:
        workers: `workers` or `scheduler` of cmbuild's functions.
    """

    folder: Path
    board: str
    limits: Limits
    workers: Mapping[str, Any]

    def prepare(self) -> None:
        digits = load_digits()
        order = np.random.default_rng(0).permutation(len(digits.images))
        images = np.float32(digits.images[order, np.newaxis] / 16)
        self.folder.mkdir(parents=True, exist_ok=True)
        np.savez(self.folder / "digits.npz", images=images, labels=digits.target[order])
        shutil.copy(FAMILY, self.folder)
        # Builds the library for the core, so that estimates of code are those of its kernels.
        for run in cmbuild.sweep(self.model([(8, 3, False)]), self.board, **self.workers):
            if run.failure is not None:
                raise run.failure

    def model(self, stages: Sequence[Stage]) -> Path:
        """The file of a candidate, which is the same for the same stages."""
        words = (f"{width}x{kernel}{'s' * separable}" for width, kernel, separable in stages)
        file = self.folder / f"net_{'_'.join(words)}.py"
        arguments = ", ".join(f"Stage{stage}" for stage in stages)
        new = file.with_suffix(f".{time.monotonic_ns()}")
        new.write_text(
            "from search_family import Stage, candidate\n\n\n"
            f"def model():\n    return candidate({arguments})\n"
        )
        new.rename(file)
        return file

    def objective(self, trial: Trial) -> tuple[float, float]:
        """Accuracy and cycles of a candidate, as estimated when it is exported."""
        model = str(self.model(suggested(trial)))
        trial.set_user_attr("model", model)
        actual = self.known(trial.study).get(model) or self.estimate(model)
        for name, over in actual.exceeded.items():
            trial.set_constraint(name, over)
        return actual.accuracy, actual.cycles

    def estimate(self, model: str) -> Estimate:
        (fitting,) = cmbuild.fit(model, self.board, export=True, **self.workers)
        need, cycles, accuracy = fitting.need, fitting.cycles, fitting.accuracy
        if cycles is None:
            known = "docs/cycles.md says which cores have predictions"
            raise SystemExit(f"error: {model}: no cycles without a run on {self.board}; {known}")
        assert need is not None and accuracy is not None
        flash, ram = need.weights + need.code, need.arena + need.static
        limits = self.limits
        exceeded = {
            "flash": flash - limits.flash,
            "ram": ram - limits.ram,
            "cycles": cycles.total - limits.cycles,
        }
        return Estimate(accuracy.quantized, cycles.total, exceeded)

    def known(self, study: optuna.Study) -> dict[str, Estimate]:
        """What an earlier trial found of each candidate."""
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return {
            trial.user_attrs["model"]: Estimate(trial.values[0], trial.values[1], trial.constraints)
            for trial in done
        }

    def search(self, study: optuna.Study, candidates: int, at_once: int) -> None:
        """Until so many different candidates are known; repeated ones cost nothing."""
        start, before = time.monotonic(), len(self.known(study))
        shown = set(self.known(study))

        def stop(study: optuna.Study, trial: FrozenTrial) -> None:
            known, model = self.known(study), trial.user_attrs.get("model")
            if model in known and model not in shown:
                shown.add(model)
                left = (time.monotonic() - start) * (candidates - len(known))
                told = _told(known[model], left / max(1, len(known) - before))
                print(f"{len(known)} of {candidates}: {told}", file=sys.stderr, flush=True)
            if len(known) >= candidates:
                study.stop()

        study.optimize(
            self.objective,
            _MOST_REPEATS * candidates,
            n_jobs=at_once,
            catch=(cmbuild.CmbuildError,),
            callbacks=[stop],
        )

    def front(self, study: optuna.Study) -> list[FrozenTrial]:
        """The best candidates within the limits: the fastest first, each choice once."""
        best = {trial.user_attrs["model"]: trial for trial in study.best_trials}
        return sorted(filter(_fits, best.values()), key=lambda trial: trial.values[1])


def suggested(trial: Trial) -> list[Stage]:
    """One to four stages, each with a choice of 58 or, if it can be separable, 116.

    All four are drawn, since a genetic algorithm crosses only what all trials have.
    """
    stages = [
        (
            trial.suggest_int(f"width of stage {number}", 4, 32),
            trial.suggest_categorical(f"kernel of stage {number}", (3, 5)),
            number > 1 and trial.suggest_categorical(f"stage {number} is separable", (False, True)),
        )
        for number in range(1, 5)
    ]
    return stages[: trial.suggest_int("stages", 1, 4)]


def _told(estimate: Estimate, left: float) -> str:
    """A line about a candidate."""
    over = ", ".join(name for name, over in estimate.exceeded.items() if over > 0)
    verdict = f"too much {over}" if over else "within the limits"
    seconds = max(0, round(left))
    return (
        f"{estimate.accuracy:.1%}, {estimate.cycles:,.0f} cycles, {verdict};"
        f" {seconds // 60}:{seconds % 60:02} left"
    )


def _fits(trial: FrozenTrial) -> bool:
    return all(over <= 0 for over in trial.constraints.values())


@contextmanager
def workers_of(arguments: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    if arguments.scheduler is not None:
        yield {"scheduler": arguments.scheduler}
        return
    with cmbuild.pool(arguments.workers) as pool:
        yield {"workers": pool}


def size(text: str) -> int:
    """`48K` is 48 × 1024."""
    return int(text.removesuffix("K")) * (1024 if text.endswith("K") else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", default="mps2-an505")
    parser.add_argument("--flash", type=size, default=24 * 1024)
    parser.add_argument("--ram", type=size, default=5 * 1024, help="without the stack")
    parser.add_argument("--cycles", type=size, default=250 * 1024)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler", help="of a Dask cluster, instead of --workers")
    parser.add_argument("--at-once", type=int, help="estimates; by default --workers")
    parser.add_argument("--folder", type=Path, default=Path("build/search"))
    arguments = parser.parse_args()
    limits = Limits(arguments.flash, arguments.ram, arguments.cycles)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with workers_of(arguments) as workers:
        search = Search(arguments.folder, arguments.board, limits, workers)
        search.prepare()
        # `--folder` keeps the study too: the same command goes on where it ended.
        study = optuna.create_study(
            storage=f"sqlite:///{arguments.folder / 'study.db'}",
            study_name="search",
            load_if_exists=True,
            directions=("maximize", "minimize"),
            sampler=optuna.samplers.NSGAIISampler(seed=0),
        )
        start = time.monotonic()
        search.search(study, arguments.candidates, arguments.at_once or arguments.workers)
        seconds = time.monotonic() - start
        known = search.known(study).values()
        fit = sum(max(estimate.exceeded.values()) <= 0 for estimate in known)
        print(f"{len(known)} candidates, {seconds:.0f} s; {fit} of them within the limits")
        show(search, study)


def show(search: Search, study: optuna.Study) -> None:
    """Runs the front, and prints it."""
    front = search.front(study)
    if not front:
        print("no candidate fits")
        return
    print(
        "model                          estimated: accuracy    cycles   simulated: device    cycles"
    )
    models = [trial.user_attrs["model"] for trial in front]
    runs = cmbuild.sweep(models, search.board, samples=360, **search.workers)
    by_model = {run.model: run for run in runs}
    page = search.folder / "search.html"
    page.write_text(plotted(search, study, by_model))
    for trial in front:
        name, (accuracy, cycles) = trial.user_attrs["model"], trial.values
        line = f"{Path(name).stem:30} {accuracy:20.1%} {cycles:9,.0f}"
        result = by_model[name].result
        if result is None or result.accuracy is None or result.cycles is None:
            print(line, by_model[name].error)
        else:
            over = "" if result.cycles.total <= search.limits.cycles else "  over the limit"
            print(f"{line} {result.accuracy.device or 0:19.1%} {result.cycles.total:9,}{over}")
    print(f"all candidates: {page}")


def plotted(search: Search, study: optuna.Study, runs: Mapping[str, cmbuild.SweepResult]) -> str:
    """A page with all candidates, and what ran of the front."""
    points = []
    for model, estimate in search.known(study).items():
        over = [name for name, over in estimate.exceeded.items() if over > 0]
        group = "beyond a limit" if over else "within the limits"
        detail = f"too much {', '.join(over)}" if over else ""
        name = Path(model).stem
        points.append(cmbuild.Point(estimate.cycles, estimate.accuracy, name, group, detail))
    for model, run in runs.items():
        result = run.result
        if result is not None and result.accuracy is not None and result.cycles is not None:
            accuracy, cycles = result.accuracy.device or 0.0, result.cycles.total
            point = cmbuild.Point(
                cycles, accuracy, Path(model).stem, "ran", "simulated", stands_out=True
            )
            points.append(point)
    title = f"{study.study_name}: candidates on {search.board}"
    return cmbuild.plot(points, title=title, x="cycles of one inference", y="accuracy")


if __name__ == "__main__":
    main()
