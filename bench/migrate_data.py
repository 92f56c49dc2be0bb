"""More made-up data in the layouts that training programs read, for those of migrate.toml."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy
from PIL import Image
from programs_data import Random, cifar10, pictures, sentences


def little_cifar10(place: Path, random: Random) -> None:
    """What torchvision's CIFAR10 reads, with 20 pictures to train on."""
    cifar10(place, random, count=4)


def few_shots(place: Path, random: Random, kinds: int = 6, count: int = 8) -> None:
    """Pictures in `images`, and train.csv, val.csv and test.csv with the kind of each."""
    pictures(place / "images", random, kinds * count, side=84)
    names = sorted(path.name for path in (place / "images").iterdir())
    lines = [f"{name},kind{number // count}" for number, name in enumerate(names)]
    for part in ("train", "val", "test"):
        (place / f"{part}.csv").write_text("\n".join(["filename,label", *lines]) + "\n")


def characters(place: Path, random: Random, kinds: int = 1230) -> None:
    """An array of twenty drawings of each character, of which those after 1200 are for tests."""
    place.parent.mkdir(parents=True, exist_ok=True)
    numpy.save(place, random.random((kinds, 20, 1, 28, 28)))


def chairs(place: Path, random: Random) -> None:
    """ShapeNet's points and their parts, for one category."""
    category = "03001627"
    place.mkdir(parents=True, exist_ok=True)
    (place / "synsetoffset2category.txt").write_text(f"Chair\t{category}\n")
    for part, count in (("train", 16), ("test", 4)):
        names = [f"{part}{number}" for number in range(count)]
        files = json.dumps([f"shape_data/{category}/{name}" for name in names])
        listed = place / "train_test_split" / f"shuffled_{part}_file_list.json"
        listed.parent.mkdir(exist_ok=True)
        listed.write_text(files)
        for name in names:
            points = random.normal(0, 1, (200, 3))
            parts = 1 + (points[:, 0] > 0) + 2 * (points[:, 1] > 0)
            for folder, kind, values in (
                ("points", "pts", points),
                ("points_label", "seg", parts),
            ):
                file = place / category / folder / f"{name}.{kind}"
                file.parent.mkdir(parents=True, exist_ok=True)
                numpy.savetxt(file, values, fmt="%d" if kind == "seg" else "%.5f")


def ratings(place: Path, random: Random, users: int = 60, items: int = 150) -> None:
    """Who liked what, and for each user one thing more beside 99 that were passed over."""
    place.mkdir(parents=True, exist_ok=True)
    train, tests = [], []
    for user in range(users):
        liked, *others = random.permutation(items)[:115].tolist()
        train += [f"{user}\t{item}\t4\t0" for item in others[:15]]
        tests.append("\t".join([f"({user},{liked})", *map(str, others[15:114])]))
    train.append(f"{users - 1}\t{items - 1}\t4\t0")
    (place / "ml-1m.train.rating").write_text("\n".join(train) + "\n")
    (place / "ml-1m.test.negative").write_text("\n".join(tests) + "\n")


def penn(place: Path, random: Random) -> None:
    """A folder with train.txt, valid.txt and test.txt, long enough for large batches."""
    place.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 300), ("valid", 60), ("test", 60)):
        (place / f"{name}.txt").write_text(sentences(random, count))


def patches(place: Path, random: Random) -> None:
    """Grey patches of pictures in train.h5, and whole ones in val.h5."""
    import h5py

    for name, count, side in (("train", 24, 24), ("val", 2, 32)):
        with h5py.File(place / f"{name}.h5", "w") as file:
            for number in range(count):
                picture = random.random((1, side, side), dtype=numpy.float32)
                file.create_dataset(str(number), data=picture)


def flows(place: Path, random: Random, count: int = 4) -> None:
    """Pairs of pictures and how the first one moves into the other."""
    place.mkdir(parents=True, exist_ok=True)
    size = height, width = 144, 176
    for number in range(1, count + 1):
        for part in (1, 2):
            picture = random.integers(0, 256, (*size, 3), dtype=numpy.uint8)
            Image.fromarray(picture).save(place / f"{number:05}_img{part}.ppm")
        with (place / f"{number:05}_flow.flo").open("wb") as file:
            numpy.array([202021.25], numpy.float32).tofile(file)
            numpy.array([width, height], numpy.int32).tofile(file)
            random.normal(0, 2, (*size, 2)).astype(numpy.float32).tofile(file)


def boxes(random: Random, side: int, count: int = 2) -> list[list[int]]:
    """Corners of boxes in a square picture: left, top, right, bottom."""
    corners = random.integers(1, side // 2, (count, 2))
    sizes = random.integers(side // 4, side // 2, (count, 2))
    found: list[list[int]] = numpy.hstack((corners, corners + sizes)).tolist()
    return found


def voc(place: Path, random: Random, count: int = 3, epochs: int = 2, side: int = 120) -> None:
    """Pictures and their boxes as Pascal VOC has them, listed often enough for a few batches."""
    for year in ("2007", "2012"):
        root = place / f"VOC{year}"
        for folder in ("Annotations", "ImageSets/Main", "JPEGImages"):
            (root / folder).mkdir(parents=True)
        for number in range(count):
            picture = random.integers(0, 256, (side, side, 3), dtype=numpy.uint8)
            Image.fromarray(picture).save(root / "JPEGImages" / f"{number}.jpg")
            objects = "".join(
                "<object><name>{}</name><difficult>0</difficult><bndbox><xmin>{}</xmin>"
                "<ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>".format(kind, *box)
                for kind, box in zip(("bird", "chair"), boxes(random, side), strict=True)
            )
            (root / "Annotations" / f"{number}.xml").write_text(
                f"<annotation>{objects}</annotation>"
            )
        listed = "".join(f"{number}\n" for number in range(count)) * epochs
        (root / "ImageSets" / "Main" / "trainval.txt").write_text(listed)


def coco(place: Path, random: Random, count: int = 4, side: int = 128) -> None:
    """Pictures in `train` and `val`, and their boxes of two kinds as COCO has them."""
    for part in ("train", "val"):
        pictures(place / part, random, count, side)
        images, annotations = [], []
        for number, path in enumerate(sorted((place / part).iterdir())):
            images.append({"id": number, "file_name": path.name})
            for kind, (left, top, right, bottom) in enumerate(boxes(random, side), start=1):
                box = [left, top, right - left, bottom - top]
                annotations.append(
                    {
                        "id": len(annotations),
                        "image_id": number,
                        "category_id": kind,
                        "bbox": box,
                        "area": box[2] * box[3],
                        "iscrowd": 0,
                    }
                )
        categories = [{"id": kind, "name": f"kind {kind}"} for kind in (1, 2)]
        file = place / "annotations" / f"instances_{part}.json"
        file.parent.mkdir(exist_ok=True)
        told = {"images": images, "annotations": annotations, "categories": categories}
        file.write_text(json.dumps(told))


def reduced_vgg(place: Path, random: Random) -> None:
    """The weights of VGG16's convolutions, its last two layers reduced to convolutions too."""
    import torch

    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024]
    layers = [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33]
    weights = {}
    for layer, (before, width) in zip(layers, pairwise(widths), strict=True):
        side = 1 if layer == layers[-1] else 3
        shape = (width, before, side, side)
        values = random.standard_normal(shape, numpy.float32) / (before * side**2) ** 0.5
        weights[f"{layer}.weight"] = torch.from_numpy(values)
        weights[f"{layer}.bias"] = torch.zeros(width)
    place.parent.mkdir(parents=True, exist_ok=True)
    torch.save(weights, place)


MAKERS: dict[str, Callable[[Path, Random], None]] = {
    "chairs": chairs,
    "characters": characters,
    "coco": coco,
    "few shots": few_shots,
    "flows": flows,
    "little cifar10": little_cifar10,
    "patches": patches,
    "penn": penn,
    "ratings": ratings,
    "reduced vgg": reduced_vgg,
    "voc": voc,
}
"""The kinds of data, by name."""
