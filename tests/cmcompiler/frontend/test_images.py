from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.images import ImageInput

RGB = ImageInput(height=4, width=4, mean=(0.5, 0.5, 0.5), std=(0.5, 0.25, 1.0))
GREY = ImageInput(height=2, width=2, mean=(0.0,), std=(1.0,))


def saved(folder, pixels):
    Image.fromarray(np.uint8(pixels)).save(folder / "picture.png")
    return folder / "picture.png"


def test_values_are_normalised_per_channel(tmp_path):
    pixels = np.broadcast_to(np.uint8([255, 0, 51]), (4, 4, 3))
    array = RGB.read(saved(tmp_path, pixels))
    assert array.shape == (1, 3, 4, 4)
    assert array.dtype == np.float32
    np.testing.assert_allclose(array[0, :, 0, 0], [1.0, -2.0, -0.3], rtol=1e-6)


def test_the_middle_is_cut_out(tmp_path):
    pixels = np.zeros((2, 6))
    pixels[:, 2:4] = [[10, 20], [30, 40]]
    array = GREY.read(saved(tmp_path, pixels))
    np.testing.assert_allclose(array[0, 0] * 255, [[10, 20], [30, 40]], rtol=1e-6)


def test_a_margin_is_left_out(tmp_path):
    pixels = np.full((8, 8), 200)
    pixels[2:6, 2:6] = 100
    array = ImageInput(4, 4, (0.0,), (1.0,), margin=2.0).read(saved(tmp_path, pixels))
    np.testing.assert_allclose(array * 255, 100, rtol=1e-6)


def test_a_colour_picture_becomes_grey(tmp_path):
    pixels = np.broadcast_to(np.uint8([10, 10, 10]), (2, 2, 3))
    np.testing.assert_allclose(GREY.read(saved(tmp_path, pixels)) * 255, 10, rtol=1e-6)


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_grey_of_16_bits_keeps_its_brightness(tmp_path, suffix):
    pixels = np.uint16([[0, 257], [0x8080, 0xFFFF]])
    Image.fromarray(pixels).save(tmp_path / f"deep.{suffix}")
    array = GREY.read(tmp_path / f"deep.{suffix}")
    np.testing.assert_allclose(array[0, 0] * 255, [[0, 1], [128, 255]], rtol=1e-6)


def test_a_photo_stands_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: its first row is the right side
    picture = Image.fromarray(np.uint8([[10, 20], [30, 40]]))
    picture.save(tmp_path / "photo.png", exif=exif)
    array = GREY.read(tmp_path / "photo.png")
    np.testing.assert_allclose(array[0, 0] * 255, [[30, 10], [40, 20]], rtol=1e-6)


def test_pixels_of_unknown_range_are_one_clear_line(tmp_path):
    Image.fromarray(np.float32([[0.5]])).save(tmp_path / "float.tiff")
    with pytest.raises(InvalidRequest, match=r"its pixels are floats of unknown range$"):
        GREY.read(tmp_path / "float.tiff")


def test_a_header_that_asks_for_any_size_is_one_clear_line(tmp_path):
    (tmp_path / "bomb.pgm").write_bytes(b"P5 100000 100000 255\n")
    with pytest.raises(InvalidRequest, match="exceeds limit"):
        GREY.read(tmp_path / "bomb.pgm")


def test_something_else_than_a_picture_is_one_clear_line(tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for file in (tmp_path / "text.png", tmp_path / "missing.png"):
        with pytest.raises(InvalidRequest, match="is not a readable image") as caught:
            RGB.read(file)
        assert str(file) in caught.value.message


def test_a_picture_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path):
    Image.new("1", (12_000, 8_000)).save(tmp_path / "bomb.png")
    with pytest.raises(InvalidRequest, match=r"bomb\.png is not a readable image: Image size"):
        GREY.read(tmp_path / "bomb.png")
