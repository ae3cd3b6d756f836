"""Makes the files in this folder with torch.save: `python tests/data/tensors/make.py`."""

from pathlib import Path

import torch

FOLDER = Path(__file__).parent

TENSORS = {
    "float32": torch.arange(6.0).reshape(2, 3),
    "transposed": torch.arange(6.0).reshape(2, 3).T,
    "slice": torch.arange(6)[2:5],
    "int8": torch.tensor([-128, 127], dtype=torch.int8),
    "bool": torch.tensor([True, False]),
    "scalar": torch.tensor(2.5, dtype=torch.float64),
    "empty": torch.zeros(0, 3),
    "channels_last": torch.arange(24.0)
    .reshape(1, 2, 3, 4)
    .contiguous(memory_format=torch.channels_last),
    "bfloat16": torch.zeros(2, dtype=torch.bfloat16),
    "state_dict": torch.nn.Linear(1, 1).state_dict(),
    "list": [torch.zeros(1)],
    "module": torch.nn.Linear(1, 1),
}

for name, value in TENSORS.items():
    torch.save(value, FOLDER / f"{name}.pt")
