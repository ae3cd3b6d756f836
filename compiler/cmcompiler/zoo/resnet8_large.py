"""ResNet-8 with 2.5 times the channels, of MLPerf Tiny's larger image classification (ic02)."""

from __future__ import annotations

from cmcompiler.frontend.model import Task
from cmcompiler.zoo import Trained, ZooModel
from cmcompiler.zoo._mlperf import published, random_layers, residual_network, residual_shapes
from cmcompiler.zoo._photographs import photographs
from cmcompiler.zoo.resnet8 import CLASSES, RAW_IMAGE

SHAPES = residual_shapes(40, 80, 160)

MODEL = ZooModel(
    name="resnet8_large",
    summary="larger ResNet-8 of MLPerf Tiny, for 32×32 images of 10 classes",
    input_shape=(1, 3, 32, 32),
    task=Task.CLASSIFICATION,
    dataset="CIFAR-10",
    module=lambda: residual_network(random_layers(SHAPES)),
    data=lambda seed: photographs(RAW_IMAGE, seed),
    classes=lambda: CLASSES,
    image=RAW_IMAGE,
    trained=Trained(
        checkpoints=(
            published(
                "image_classification/pretrainedResnet_large_float.tflite",
                "fb17ae9c1b6d0e5bd97f0f35024f207556261d7310b249716c87cc0628214b0e",
            ),
        ),
        shapes=SHAPES,
        module=residual_network,
        data=lambda seed: photographs(RAW_IMAGE, seed),
        image=RAW_IMAGE,
    ),
)
