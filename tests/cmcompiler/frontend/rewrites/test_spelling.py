"""Combined operators become others, with the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn
from torch.nn import functional

from cmcompiler.frontend.rewrites.spelling import spell_combinations

IMAGE = torch.randn(2, 8, 3, 4, generator=torch.Generator().manual_seed(1))


SPELLED: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "softmax": (lambda x: torch.softmax(x, 1), "permute softmax permute"),
    "log_softmax": (lambda x: torch.log_softmax(x, -3), "permute log_softmax permute"),
    "largest": (lambda x: x.max(), "amax"),
    "least": (lambda x: x.min(), "amin"),
    "larger": (lambda x: torch.max(x, x.flip(0)), "flip maximum"),
    "smaller": (lambda x: torch.fmin(x, x.flip(0)), "flip minimum"),
    "gate": (lambda x: functional.glu(x, 1), "slice slice sigmoid mul"),
    "difference": (lambda x: x.diff(dim=2), "slice slice sub"),
    "differences": (lambda x: x.diff(n=2), "slice slice sub slice slice sub"),
    "cosine": (
        lambda x: functional.cosine_similarity(x, x.flip(0), dim=-1),
        "flip linalg_vector_norm clamp_min div linalg_vector_norm clamp_min div mul sum",
    ),
    "distance": (
        lambda x: functional.pairwise_distance(x[:, 0], x[:, 1]),
        "select select sub linalg_vector_norm",
    ),
    "one distance": (lambda x: torch.dist(x, x.exp(), 2), "exp sub linalg_vector_norm"),
    "few distances": (
        lambda x: torch.cdist(x, x.exp()),
        "exp unsqueeze unsqueeze sub linalg_vector_norm",
    ),
    "many distances": (
        lambda x: torch.cdist(x.repeat(1, 1, 40, 1), x.repeat(1, 1, 30, 1) + 9),
        "repeat repeat add square sum square sum transpose matmul mul add transpose add clamp_min "
        "sqrt",
    ),
    "distances of pairs": (
        lambda x: torch.pdist(x[0, :, 0]),
        "select select index_select index_select sub linalg_vector_norm",
    ),
    "taxicab": (lambda x: x.norm(p=1, dim=(1, 2), keepdim=True), "abs sum"),
    "chessboard": (lambda x: torch.linalg.vector_norm(x, torch.inf), "abs amax"),
    "variance": (lambda x: torch.var_mean(x, (2, 3))[0], "var"),
    "moments": (lambda x: torch.cat(torch.std_mean(x, 1, unbiased=False)), "std mean cat"),
    "product": (lambda x: torch.addcmul(x, x, x, value=2), "mul mul add"),
    "quotient": (lambda x: torch.addcdiv(x, x, x.exp()), "exp div add"),
    "blend": (lambda x: torch.lerp(x, x.flip(1), 0.25), "flip sub mul add"),
    "turn": (lambda x: torch.rot90(x, 1, (2, 3)), "flip transpose"),
    "half turn": (lambda x: torch.rot90(x, -2, (2, 3)), "flip"),
    "turn back": (lambda x: torch.rot90(x, 3, (2, 3)), "flip transpose"),
    "hypotenuse": (lambda x: torch.hypot(x, x.flip(1)), "flip square square add sqrt"),
    "soft maximum": (
        lambda x: torch.logaddexp(x, x.flip(1)),
        "flip sub abs neg softplus maximum add",
    ),
    "places": (
        lambda x: torch.take_along_dim(x, torch.tensor([[[[3, 0]]]]), -1),
        "lift_fresh_copy detach_ expand gather",
    ),
    "deep padding": (
        lambda x: functional.pad(x[:, None], (0, 0, 0, 0, 1, 2), value=0.5),
        "unsqueeze reshape constant_pad_nd reshape",
    ),
    "bool like a tensor": (lambda x: (x > x.flip(1)).type_as(x), "flip gt where"),
    "one of some": (
        lambda x: functional.one_hot(x.argmax(-1), x.shape[-1]).type_as(x),
        "argmax unsqueeze eq where",
    ),
    "one of some, whose index may be outside": (
        lambda x: functional.one_hot(x.argmax(-1) + 1, x.shape[-1] + 1).type_as(x),
        "argmax add embedding eq where",
    ),
    "one of some, as integers": (
        lambda x: functional.one_hot(x.argmax(-1) + 1, x.shape[-1] + 1),
        "argmax add embedding eq to",
    ),
    "one of some, as a factor": (
        lambda x: functional.one_hot(x.argmax(-1), x.shape[-1]) * x,
        "argmax unsqueeze eq where",
    ),
    "product of a bool and a number": (lambda x: (x > x.flip(1)) * 0.5, "flip gt where"),
    "product with a bool": (lambda x: (x > x.flip(1)) * x, "flip gt where"),
    "lower triangle": (lambda x: x.tril(-1), "where"),
    "upper triangle": (lambda x: x.triu(), "where"),
    "views": (lambda x: x.view_as(x.flatten(2)).reshape_as(x), "reshape reshape"),
    "expansion": (lambda x: x[:, :1].expand_as(x), "slice expand"),
}


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles(interpolation: str) -> None:
    def quantiles(x: Tensor) -> tuple[Tensor, ...]:
        shares = torch.tensor([0.0, 0.3, 0.5])
        return (
            x.quantile(0.3, interpolation=interpolation),
            x.quantile(0.8, 1, keepdim=True, interpolation=interpolation),
            x.quantile(shares, -1, interpolation=interpolation),
        )

    graph = rewritten(Function(quantiles), IMAGE, by=spell_combinations)
    assert not any("quantile" in each for each in targets(graph))


@pytest.mark.parametrize("name", SPELLED)
def test_spelled(name: str) -> None:
    compute, expected = SPELLED[name]
    operators = targets(rewritten(Function(compute), IMAGE, by=spell_combinations))
    assert [each.split(".")[1] for each in operators] == expected.split()


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.median(),
        lambda x: x.median(1, keepdim=True)[0],
        lambda x: torch.stack(torch.kthvalue(x, 2)),
    ],
)
def test_ranks_are_places_of_sorted_elements(compute: Callable[[Tensor], Tensor]) -> None:
    operators = targets(rewritten(Function(compute), IMAGE, by=spell_combinations))
    assert "aten.sort.stable" in operators


def test_an_instance_norm_with_running_statistics_is_a_batch_norm() -> None:
    layer = nn.InstanceNorm2d(8, affine=True, track_running_stats=True)
    torch.nn.init.normal_(layer.running_mean)
    assert targets(rewritten(layer, IMAGE, by=spell_combinations)) == ["aten.batch_norm.default"]


@pytest.mark.parametrize("is_affine", [False, True])
@pytest.mark.parametrize("shape", [(1, 4, 3, 5), (3, 4, 3, 5), (3, 4, 6), (5, 4)], ids=str)
def test_a_batch_norm_without_running_statistics_is_a_group_norm(
    shape: tuple[int, ...], is_affine: bool
) -> None:
    of_rank = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}
    layer = of_rank[len(shape)](4, affine=is_affine, track_running_stats=False)
    if is_affine:
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    operators = targets(rewritten(layer, torch.randn(shape), by=spell_combinations))
    assert "aten.group_norm.default" in operators and "aten.batch_norm.default" not in operators


KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1, dtype=torch.float64),
    "linalg_vector_norm": lambda x: torch.linalg.vector_norm(x, 3),
    "diff": lambda x: x.diff(prepend=x[..., :1]),
    "rot90": lambda x: torch.rot90(x, 4, (2, 3)),
    "max": lambda x: torch.max(torch.argmax(x, 1)),
    "mul": lambda x: x * x.flip(1),
    "triu": lambda x: x.argsort(1).triu(),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    operators = targets(rewritten(Function(KEPT[name]), IMAGE, by=spell_combinations))
    assert name in [each.split(".")[1] for each in operators]


@pytest.mark.parametrize(("mode", "operator"), [("sum", "sum"), ("mean", "mean"), ("max", "amax")])
def test_bags_of_one_size_are_reductions_of_rows(mode: str, operator: str) -> None:
    bag, indices = nn.EmbeddingBag(20, 6, mode=mode), torch.arange(14).reshape(2, 7)
    operators = targets(rewritten(bag, indices))
    assert "aten.embedding.default" in operators and not any(
        "embedding_bag" in x for x in operators
    )
    assert any(operator in each for each in operators)


def test_bags_of_several_sizes_stay() -> None:
    class Bags(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.EmbeddingBag(20, 6)

        def forward(self, x: Tensor) -> Tensor:
            return self.rows(x, torch.tensor([0, 2, 3]))

    operators = targets(rewritten(Bags(), torch.arange(14), by=spell_combinations))
    assert any("embedding_bag" in each for each in operators)
