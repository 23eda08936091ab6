"""Completes a picture of which most of the samples are missing.

    python complete_picture.py [--side 64] [--missing 0.7] [--picture IN.png] [--output OUT.png]
"""

import argparse

import numpy as np

import tnsearch


def drawn(side: int) -> np.ndarray:
    """A picture in colour: side x side x 3, samples from 0 to 1."""
    y, x = np.mgrid[0:side, 0:side] / side
    waves = 0.5 + 0.5 * np.sin(12 * np.hypot(x, y - 0.3))
    disc = 1 / (1 + np.exp(25 * (np.hypot(x - 0.6, y - 0.4) - 0.25)))
    return np.clip(np.stack([waves, disc, 1 - y * waves], axis=-1), 0, 1)


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    """How near two pictures are, in dB."""
    return float(-10 * np.log10(np.mean((a - b) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--missing", type=float, default=0.7)
    parser.add_argument("--picture")
    parser.add_argument("--output")
    asked = parser.parse_args()

    if asked.picture:
        from PIL import Image

        truth = np.asarray(Image.open(asked.picture).convert("RGB")) / 255
    else:
        truth = drawn(asked.side)
    # Whole pixels are missing.
    lost = np.random.default_rng(0).random(truth.shape[:2]) < asked.missing
    X = np.where(lost[..., None], np.nan, truth)

    done = tnsearch.complete(X, nan_missing=True, seed=1)
    filled = np.clip(done.tensor, 0, 1)
    mean = np.where(np.isnan(X), np.nanmean(X, axis=(0, 1)), X)
    print(f"{lost.mean():.0%} of the pixels missing, {done.params:,} params")
    print(f"PSNR {psnr(filled, truth):.1f} dB; with the mean colour in every hole {psnr(mean, truth):.1f} dB")
    assert psnr(filled, truth) > psnr(mean, truth)
    if asked.output:
        from PIL import Image

        shown = [np.nan_to_num(X), filled, truth]
        Image.fromarray((np.concatenate(shown, axis=1) * 255).round().astype(np.uint8)).save(asked.output)
        print(f"what was there, what was filled in, the truth: {asked.output}")


if __name__ == "__main__":
    main()
