"""torchvision's networks, with seeded random weights and the statistics of random images."""

import torch
import torchvision
from torch import nn


def _network(name: str, size: int, **options: object):
    torch.manual_seed(0)
    module: nn.Module = torchvision.models.get_model(name, weights=None, **options)
    shape = (3, size, size)
    module.train()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = None
    with torch.no_grad():
        for _ in range(4):
            module(torch.randn(8, *shape))
    samples = [(torch.randn(1, *shape),) for _ in range(9)]
    return module.eval(), samples[0], samples[1:]


def squeezenet():
    return _network("squeezenet1_1", 96)


def shufflenet():
    return _network("shufflenet_v2_x0_5", 96)


def efficientnet():
    return _network("efficientnet_b0", 96)


def regnet():
    return _network("regnet_y_400mf", 96)


def mnasnet():
    return _network("mnasnet0_5", 96)


def googlenet():
    return _network("googlenet", 96, init_weights=True, aux_logits=False)


def densenet():
    return _network("densenet121", 96)


def mobilenet_v3():
    return _network("mobilenet_v3_small", 96)
