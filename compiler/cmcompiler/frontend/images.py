"""Image files as model inputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest, MissingPackage
from cmcompiler.installation import pip_install

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How to make a model's only input from an image: (value / 255 - mean) / std per channel.

    Attributes:
        height: of the input, pixels.
        width: of the input, pixels.
        mean: one number per channel: three for RGB, one for grey.
        std: one number per channel.
        margin: ratio by which the shorter side of a picture is scaled beyond the input's before its
            centre is cropped.
    """

    height: int
    width: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    margin: float = 1.0

    def read(self, path: Path) -> npt.NDArray[Any]:
        """The centre of a picture, float32, shape (1, channels, height, width).

        Raises:
            InvalidRequest: file not found, or not a picture.
            MissingPackage: Pillow is not installed.
        """
        try:
            from PIL import Image, ImageOps
        except ImportError:
            raise MissingPackage(f"reading {path} needs Pillow", pip_install("pillow")) from None
        try:
            # Pillow only warns of pictures that unpack to hundreds of megabytes.
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(path) as image:
                    return self._middle(_bytes_a_channel(ImageOps.exif_transpose(image)))
        except Exception as error:  # damaged pictures raise anything
            raise InvalidRequest(f"{path} is not a readable image: {error}") from None

    def _middle(self, image: Image) -> npt.NDArray[Any]:
        width, height = image.size
        scale = max(self.width / width, self.height / height) * self.margin
        half = self.width / scale / 2, self.height / scale / 2
        box = (
            width / 2 - half[0],
            height / 2 - half[1],
            width / 2 + half[0],
            height / 2 + half[1],
        )
        return self.cut(image, box)

    def cut(self, image: Image, box: tuple[float, float, float, float]) -> npt.NDArray[Any]:
        """A box (left, top, right, bottom) of a picture, as `read` returns it."""
        from PIL.Image import Resampling

        mode = "RGB" if len(self.mean) == 3 else "L"
        size = (self.width, self.height)
        part = image.convert(mode).resize(size, Resampling.BILINEAR, box)
        pixels = np.asarray(part, np.float32).reshape(self.height, self.width, len(self.mean))
        values = (pixels / 255 - np.asarray(self.mean)) / np.asarray(self.std)
        return np.ascontiguousarray(values.transpose(2, 0, 1)[np.newaxis], np.float32)


def _bytes_a_channel(image: Image) -> Image:
    """Converts 16-bit grey to 8-bit, which Pillow would clip at 255; returns others unchanged."""
    from PIL.Image import fromarray

    if image.mode == "F":
        raise ValueError("its pixels are floats of unknown range")
    if image.mode.partition(";")[0] != "I":
        return image
    return fromarray(np.uint8(np.asarray(image).clip(0, 0xFFFF) // 257))
