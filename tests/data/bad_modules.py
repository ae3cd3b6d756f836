"""Small modules as people write them that cannot run on a board; bad_modules.toml says why not."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


class _Net(nn.Module):
    def __init__(self, compute: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.compute = compute

    def forward(self, x: Tensor) -> object:  # here: definition
        return self.compute(self.fc(x))  # here: forward


def _made(compute: Callable[[Tensor], object]) -> Made:
    return _Net(compute).eval(), torch.ones(1, 8)


def numpy() -> Made:
    return _made(lambda x: torch.from_numpy(x.numpy()) + x)  # here: numpy


def out() -> Made:
    net = nn.Linear(8, 8)
    return _made(lambda x: torch.add(net(x), 1, out=torch.empty(1, 8)))  # here: out


def item() -> Made:
    return _made(lambda x: x * 2 if x.sum().item() > 0 else x)  # here: item


def condition() -> Made:
    return _made(lambda x: x * 2 if x.sum() > 0 else x)  # here: condition


def tolist() -> Made:
    return _made(lambda x: x + max(x.flatten().tolist()))  # here: tolist


def python_float() -> Made:
    return _made(lambda x: x * float(x.max()))  # here: python_float


def nonzero() -> Made:
    return _made(lambda x: x[x > 0])


def dropout() -> Made:
    return _made(F.dropout)


def random() -> Made:
    return _made(lambda x: x + torch.randn_like(x))


def infinite_weight() -> Made:
    net, x = _made(torch.relu)
    with torch.no_grad():
        net.fc.weight[0, 0] = torch.inf  # type: ignore[union-attr, index, operator]
    return net, x


def scripted() -> Made:
    class Steps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            while bool(x.abs().max() > 1):
                x = x * 0.5
            return x

    return torch.jit.script(Steps().eval()), torch.ones(1, 8)


def scripted_inside() -> Made:
    return nn.Sequential(torch.jit.script(nn.Linear(8, 8)), nn.ReLU()).eval(), torch.ones(1, 8)


def inverse() -> Made:
    return _made(lambda x: torch.linalg.inv(x.T @ x + torch.eye(8)))


def solved() -> Made:
    return _made(lambda x: torch.linalg.solve(x.T @ x + torch.eye(8), x[0]))


def decomposed() -> Made:
    return _made(lambda x: torch.linalg.svd(x.T @ x)[1])


def determinant() -> Made:
    return _made(lambda x: torch.det(x.T @ x + torch.eye(8)))


def derivative() -> Made:
    return _made(torch.func.grad(lambda y: (y**2).sum()))


def endless() -> Made:
    from torch._higher_order_ops.while_loop import while_loop

    return _made(lambda x: while_loop(lambda v: v.max() > 1, lambda v: (v / 2,), (x,))[0])


def loop_of_numbers() -> Made:
    from torch._higher_order_ops.while_loop import while_loop

    def compute(x: Tensor) -> Tensor:
        goes_on, turn = (lambda i, v: i < 3), (lambda i, v: (i + 1, v * 2))
        return while_loop(goes_on, turn, (0, x))[1]  # here: loop_of_numbers

    return _made(compute)


def text() -> Made:
    return _made(lambda x: {"scores": x, "label": "cat"})


def nothing() -> Made:
    return _made(lambda x: None)


def own_object() -> Made:
    class Boxes:
        def __init__(self, boxes: Tensor) -> None:
            self.boxes = boxes

    return _made(Boxes)


def unique() -> Made:
    return _made(torch.unique)


def sparse() -> Made:
    return _made(lambda x: x.to_sparse())


def complex() -> Made:
    return _made(lambda x: torch.complex(x, x) * 2)


def complex_tangent() -> Made:
    return _made(lambda x: torch.fft.rfft(x).tanh().abs())


def numpy_function() -> Made:
    import numpy as np

    return _made(lambda x: torch.tensor(np.tanh(x.detach().numpy())))  # here: numpy_function


def quantized_dynamic() -> Made:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    return torch.ao.quantization.quantize_dynamic(net, {nn.Linear}), torch.ones(1, 8)


def observed() -> Made:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    return torch.ao.quantization.prepare(net), torch.ones(1, 8)


def rounded_in_training() -> Made:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).train()
    net.qconfig = torch.ao.quantization.get_default_qat_qconfig("qnnpack")
    return torch.ao.quantization.prepare_qat(net).eval(), torch.ones(1, 8)


def masked_select() -> Made:
    return _made(lambda x: torch.masked_select(x, x > 0))


def bernoulli() -> Made:
    return _made(lambda x: x * torch.bernoulli(torch.full((8,), 0.5)))


def infinite_weight_of_a_sequence() -> Made:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()).eval()
    torch.nn.init.constant_(net[0].bias, torch.nan)
    return net, torch.ones(1, 1, 4, 4)


def eigenvalues() -> Made:
    return _made(lambda x: torch.linalg.eigvalsh(x.T @ x))


def orthogonal() -> Made:
    return _made(lambda x: torch.linalg.qr(x.T @ x)[0])


def cholesky() -> Made:
    return _made(lambda x: torch.linalg.cholesky(x.T @ x + torch.eye(8)))


def histogram() -> Made:
    return _made(lambda x: torch.histc(x, 4))


def counted() -> Made:
    return _made(lambda x: torch.bincount(x[0].abs().long(), minlength=4))


def multinomial() -> Made:
    return _made(lambda x: torch.multinomial(F.softmax(x, 1), 1))


def gumbel() -> Made:
    return _made(F.gumbel_softmax)


def random_slopes() -> Made:
    return _made(lambda x: F.rrelu(x, training=True))


def attention_dropout() -> Made:
    return _made(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.1))


def where() -> Made:
    return _made(lambda x: torch.where(x > 0)[0])


def argwhere() -> Made:
    return _made(lambda x: torch.argwhere(x > 0))


def assertion() -> Made:
    def compute(x: Tensor) -> Tensor:
        assert x.sum() < 1e9  # here: assertion
        return x

    return _made(compute)


def numbers_one_by_one() -> Made:
    def compute(x: Tensor) -> Tensor:
        return torch.stack([v for v in x[0] if v > 0])  # here: numbers_one_by_one

    return _made(compute)


def size_from_value() -> Made:
    return _made(lambda x: x[:, : int(x.sum())])  # here: size_from_value


def repeated() -> Made:
    def compute(x: Tensor) -> Tensor:
        for _ in range(int(x.abs().sum())):  # here: repeated
            x = x + 1
        return x

    return _made(compute)


def while_true() -> Made:
    def compute(x: Tensor) -> Tensor:
        while x.max() > 1:  # here: while_true
            x = x / 2
        return x

    return _made(compute)


def chosen_index() -> Made:
    return _made(lambda x: x[:, [i for i in range(8) if x[0, i] > 0]])  # here: chosen_index


def own_error() -> Made:
    def compute(x: Tensor) -> Tensor:
        if len(x) == 1:
            raise ValueError("need a batch")  # here: own_error
        return x

    return _made(compute)


def wrong_shape() -> Made:
    return _made(lambda x: x @ torch.ones(5, 3))  # here: wrong_shape


def wrong_name() -> Made:
    return _made(lambda x: x.nothing())  # type: ignore[attr-defined]  # here: wrong_name


def own_operator() -> Made:
    @torch.library.custom_op("bad_modules::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)
    return _made(torch.ops.bad_modules.twice)


def own_operator_of_no_shape() -> Made:
    @torch.library.custom_op("bad_modules::half", mutates_args=())
    def half(x: Tensor) -> Tensor:
        return x / 2

    return _made(lambda x: half(x) + x)  # here: no_shape


def region_of_interest() -> Made:
    from torchvision.ops import roi_align

    return _made(lambda x: roi_align(x.reshape(1, 1, 2, 4), [x[:, :4]], 2))


def nested() -> Made:
    return _made(lambda x: torch.nested.nested_tensor([x[0], x[0, :4]]))  # here: nested


def place_in_margins() -> Made:
    return _made(lambda x: F.max_pool1d(x[None], 2, padding=1, return_indices=True)[1])


def computed_kernel() -> Made:
    return _made(lambda x: F.conv_transpose1d(x[None], x.reshape(1, 2, 4)))


def lazy() -> Made:
    return nn.LazyLinear(4), torch.ones(1, 8)


def without_values() -> Made:
    return nn.Linear(8, 4, device="meta"), torch.ones(1, 8)


def complex_input() -> Made:
    return nn.Identity(), torch.ones(1, 8, dtype=torch.complex64)


def reflected_samples() -> Made:
    return _made(
        lambda x: F.grid_sample(
            x.reshape(1, 1, 2, 4),
            x.reshape(1, 2, 2, 2),
            padding_mode="reflection",
            align_corners=False,
        )
    )


def put_by_mask() -> Made:
    return _made(lambda x: x.masked_scatter(x > 0, 2 * x))


def put_on_diagonal() -> Made:
    def compute(x: Tensor) -> Tensor:
        return torch.diagonal_scatter(x.reshape(2, 4), x[0, :2])

    return _made(compute)


def filled_diagonal() -> Made:
    return _made(lambda x: x.reshape(2, 4).clone().fill_diagonal_(0.5))


def held_array() -> Made:
    import numpy as np

    window = np.hanning(8).astype(np.float32)
    return _made(lambda x: x + window)  # here: held_array


def packed() -> Made:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(4, 8, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            sequence = nn.utils.rnn.pack_padded_sequence(x, [x.shape[1]], batch_first=True)
            results, _ = self.rnn(sequence)  # here: packed
            padded, _ = nn.utils.rnn.pad_packed_sequence(results, batch_first=True)
            return padded  # type: ignore[no-any-return]

    return Packed().eval(), torch.ones(1, 5, 4)


def printed() -> Made:
    def compute(x: Tensor) -> Tensor:
        print(f"mean {x.mean():.3f}")  # here: printed
        return x

    return _made(compute)


def joined_values() -> Made:
    return _made(lambda x: torch.tensor([x[0, 0], x[0, 1]]))  # here: joined_values


class _Ring(nn.Module):
    """Results that are the same in the first calls, wherever a number of Python's points."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.place, self.size = 0, size
        self.register_buffer("ring", torch.zeros(size, 8))

    def forward(self, x: Tensor) -> Tensor:  # here: ring
        assert isinstance(self.ring, Tensor)
        self.ring[self.place % self.size] = x[0]
        self.place += 1
        return self.ring.mean(0, keepdim=True)


def ring_at_a_number() -> Made:
    return _Ring(4).eval(), torch.ones(1, 8)


def first_time() -> Made:
    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.is_new = True
            self.register_buffer("mean", torch.zeros(1, 8))

        def forward(self, x: Tensor) -> Tensor:  # here: first_time
            assert isinstance(self.mean, Tensor)
            self.mean.copy_(x if self.is_new else 0.9 * self.mean + 0.1 * x.square())
            self.is_new = False
            return self.mean.clone()

    return First().eval(), torch.ones(1, 8)


class _Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.modules = [nn.Linear(8, 8), nn.ReLU()]  # type: ignore[assignment]

    def forward(self, x: Tensor) -> Tensor:
        for part in self.modules:  # type: ignore[attr-defined]
            x = part(x)
        return x


def hidden_method() -> Made:
    return nn.Sequential(_Chain()), torch.ones(1, 8)
