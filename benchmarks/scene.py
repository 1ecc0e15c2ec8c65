"""What a robot's camera sees, made up; needs nothing but NumPy, so that other programs' environments can import it."""

from __future__ import annotations

import numpy as np


def camera(count: int = 60, height: int = 480, width: int = 640) -> list[np.ndarray]:
    """Make pictures of a scene that stands still: a textured background, noise, and a block that moves."""
    rng = np.random.default_rng(0)
    rows, columns = (axis[..., None] for axis in np.mgrid[0:height, 0:width])
    base = 120 + 50 * np.sin(columns / 31) + 30 * np.cos(rows / 23 + np.arange(3))
    base += rng.normal(0, 10, (height // 4, width // 4, 3)).repeat(4, 0).repeat(4, 1)
    pictures = []
    for number in range(count):
        picture = base + rng.normal(0, 2, base.shape)
        top, left = height // 4 + height * (number % 15) // 60, width * number // count
        picture[top : top + height // 8, left : left + width // 10] = (200, 180, 40)
        pictures.append(np.clip(picture, 0, 255).astype(np.uint8))
    return pictures
