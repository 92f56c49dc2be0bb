"""Made-up data in the layouts that training programs read: random, small, always the same."""

from __future__ import annotations

import gzip
import json
import pickle
import string
import struct
from collections.abc import Callable
from pathlib import Path

import numpy
from PIL import Image

Random = numpy.random.Generator
WORDS = (
    "the a one some every small green old quick river stone house bird garden window letter "
    "sees finds opens keeps follows under over near beside without and or but then again"
).split()


def make(kind: str, place: Path) -> None:
    """Write data of `kind` at `place`. Raises KeyError for a kind that there is none of."""
    MAKERS[kind](place, numpy.random.default_rng(0))


# ---- digits and pictures


def digits(place: Path, random: Random, train: int = 256, test: int = 64) -> None:
    """What torchvision's MNIST reads, where `place` is its root."""
    raw = place / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        labels = numpy.resize(numpy.arange(10, dtype=numpy.uint8), count)
        random.shuffle(labels)
        write_idx(raw / f"{part}-labels-idx1-ubyte", labels)
        write_idx(raw / f"{part}-images-idx3-ubyte", drawn(labels, 28, random))


def many_digits(place: Path, random: Random) -> None:
    """As `digits`, for programs that tell their loss every hundred batches."""
    digits(place, random, train=10_000, test=512)


def all_digits(place: Path, random: Random) -> None:
    """As `digits`, for programs that count on as many pictures as MNIST has."""
    digits(place, random, train=60_000, test=512)


def write_idx(path: Path, values: numpy.ndarray) -> None:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(header + values.tobytes())


def drawn(labels: numpy.ndarray, side: int, random: Random) -> numpy.ndarray:
    """Noise with a bright stripe whose row tells the label: there is something to learn."""
    pictures = random.integers(0, 64, (len(labels), side, side), dtype=numpy.uint8)
    rows = labels.astype(int) * (side // 10) + 1
    pictures[numpy.arange(len(labels)), rows] = 255
    return pictures


def cifar10(place: Path, random: Random, count: int = 40) -> None:
    """What torchvision's CIFAR10 reads, where `place` is its root."""
    folder = place / "cifar-10-batches-py"
    folder.mkdir(parents=True, exist_ok=True)
    for name in [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]:
        pickled(folder / name, cifar_batch(random, count, 10, "labels"))
    pickled(folder / "batches.meta", {"label_names": [f"kind {number}" for number in range(10)]})


def cifar100(place: Path, random: Random) -> None:
    """What torchvision's CIFAR100 reads, where `place` is its root."""
    folder = place / "cifar-100-python"
    folder.mkdir(parents=True, exist_ok=True)
    pickled(folder / "train", cifar_batch(random, 200, 100, "fine_labels"))
    pickled(folder / "test", cifar_batch(random, 100, 100, "fine_labels"))
    pickled(folder / "meta", {"fine_label_names": [f"kind {number}" for number in range(100)]})


def cifar_batch(random: Random, count: int, kinds: int, labels: str) -> dict[str, object]:
    data = random.integers(0, 256, (count, 3 * 32 * 32), dtype=numpy.uint8)
    return {"data": data, labels: [number % kinds for number in range(count)]}


def pickled(path: Path, value: object) -> None:
    path.write_bytes(pickle.dumps(value))


def pictures(place: Path, random: Random, count: int = 8, side: int = 64) -> None:
    """A folder of pictures."""
    place.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        picture = random.integers(0, 256, (side, side, 3), dtype=numpy.uint8)
        Image.fromarray(picture).save(place / f"{number:03}.png")


def large_pictures(place: Path, random: Random) -> None:
    """A folder of pictures that have room for a crop of 256 x 256."""
    pictures(place, random, count=6, side=288)


def labelled_pictures(place: Path, random: Random) -> None:
    """A folder of pictures for each of three kinds, in `train` and `val`."""
    for part, count in (("train", 8), ("val", 4)):
        for kind in ("bird", "house", "river"):
            pictures(place / part / kind, random, count)


def segmented_pictures(place: Path, random: Random) -> None:
    """`imgs` and, for each of them, a mask of two values in `masks`."""
    pictures(place / "imgs", random, count=10)
    (place / "masks").mkdir(parents=True, exist_ok=True)
    for picture in sorted((place / "imgs").glob("*.png")):
        mask = random.integers(0, 2, (64, 64), dtype=numpy.uint8) * 255
        Image.fromarray(mask).save(place / "masks" / picture.name)


# ---- text


def sentences(random: Random, count: int) -> str:
    lengths = random.integers(4, 12, count)
    return "".join(" ".join(random.choice(WORDS, length)) + " .\n" for length in lengths)


def corpus(place: Path, random: Random) -> None:
    """A folder with train.txt, valid.txt and test.txt."""
    place.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 400), ("valid", 60), ("test", 60)):
        (place / f"{name}.txt").write_text(sentences(random, count))


def text(place: Path, random: Random) -> None:
    """A file of text that has every printable character."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(sentences(random, 2000) + string.printable)


def tokens(place: Path, random: Random) -> None:
    """train.bin and val.bin, each a run of characters as numbers of 16 bits, and meta.pkl."""
    place.mkdir(parents=True, exist_ok=True)
    words = sentences(random, 2000)
    letters = sorted(set(words))
    numbers = numpy.array([letters.index(letter) for letter in words], dtype=numpy.uint16)
    numbers[: len(numbers) * 9 // 10].tofile(place / "train.bin")
    numbers[len(numbers) * 9 // 10 :].tofile(place / "val.bin")
    names = {"vocab_size": len(letters), "itos": dict(enumerate(letters))}
    pickled(place / "meta.pkl", {**names, "stoi": {v: k for k, v in enumerate(letters)}})


def compressed_bytes(place: Path, random: Random) -> None:
    """A gzip file of 100 million bytes of text, of which nearly all are zeros at the end."""
    place.parent.mkdir(parents=True, exist_ok=True)
    some = (sentences(random, 2000) * 1000)[:20_000_000].encode()
    place.write_bytes(gzip.compress(some * 5, 1))


# ---- graphs, series and sound


def citations(place: Path, random: Random, papers: int = 1700) -> None:
    """cora.content and cora.cites: papers, their words and whom they cite."""
    place.mkdir(parents=True, exist_ok=True)
    numbers = random.permutation(10_000)[:papers]
    words = random.random((papers, 60)) < 0.1
    words[:, 0] = True
    kinds = random.integers(0, 7, papers)
    words[numpy.arange(papers), kinds + 1] = True
    lines = [
        "\t".join([str(number), *map(str, row.astype(int)), f"Kind_{kind}"])
        for number, row, kind in zip(numbers, words, kinds, strict=True)
    ]
    (place / "cora.content").write_text("\n".join(lines) + "\n")
    cited = {tuple(random.choice(papers, 2, replace=False)) for _ in range(3 * papers)}
    cites = [f"{numbers[first]}\t{numbers[second]}" for first, second in sorted(cited)]
    (place / "cora.cites").write_text("\n".join(cites) + "\n")


def planetoid(place: Path, random: Random) -> None:
    """What PyTorch Geometric's Planetoid reads as Cora, where `place` is its root."""
    from scipy import sparse

    raw = place / "Cora" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    train, others, tested = 140, 1200, 200
    known = train + others
    features = (random.random((known + tested, 60)) < 0.1).astype(numpy.float32)
    features[:, 0] = 1
    kinds = numpy.eye(7, dtype=numpy.int32)[random.integers(0, 7, known + tested)]
    parts = {
        "x": sparse.csr_matrix(features[:train]),
        "tx": sparse.csr_matrix(features[known:]),
        "allx": sparse.csr_matrix(features[:known]),
        "y": kinds[:train],
        "ty": kinds[known:],
        "ally": kinds[:known],
        "graph": {
            paper: [int(other) for other in random.choice(known + tested, 4, replace=False)]
            for paper in range(known + tested)
        },
    }
    for name, value in parts.items():
        pickled(raw / f"ind.cora.{name}", value)
    order = random.permutation(numpy.arange(known, known + tested))
    (raw / "ind.cora.test.index").write_text("\n".join(map(str, order)) + "\n")


def molecules(place: Path, random: Random, count: int = 60) -> None:
    """What PyTorch Geometric's TUDataset reads as MUTAG, where `place` is its root."""
    raw = place / "MUTAG" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    edges: list[str] = []
    of_graph: list[str] = []
    for graph in range(1, count + 1):
        first, size = len(of_graph) + 1, int(random.integers(8, 20))
        of_graph += [str(graph)] * size
        for node in range(first, first + size - 1):
            edges += [f"{node}, {node + 1}", f"{node + 1}, {node}"]
    columns = {
        "A": edges,
        "graph_indicator": of_graph,
        "graph_labels": [str(2 * (graph % 2) - 1) for graph in range(count)],
        "node_labels": [str(kind) for kind in random.integers(0, 7, len(of_graph))],
        "edge_labels": [str(kind) for kind in numpy.repeat(random.integers(0, 4, len(edges)), 1)],
    }
    for name, values in columns.items():
        (raw / f"MUTAG_{name}.txt").write_text("\n".join(values) + "\n")


def voices(place: Path, random: Random) -> None:
    """A folder of mel spectrograms, and of train.pkl: who speaks, how the voice is, and where."""
    place.mkdir(parents=True, exist_ok=True)
    speakers = []
    for number in range(4):
        numpy.save(place / f"{number}.npy", random.random((150, 80), dtype=numpy.float32))
        voice = random.normal(0, 1, 256).astype(numpy.float32)
        speakers.append([f"speaker {number}", voice, f"{number}.npy"])
    pickled(place / "train.pkl", speakers)


def series(place: Path, random: Random) -> None:
    """Sine waves, a line each, as an array saved by torch.save."""
    import torch

    shifts = random.integers(-80, 80, (20, 1))
    waves = numpy.sin((numpy.arange(120) + shifts) / 20.0)
    place.parent.mkdir(parents=True, exist_ok=True)
    torch.save(waves, place)


def small_unet(place: Path, random: Random) -> None:
    """A folder with the settings of a small network for diffusers."""
    place.mkdir(parents=True, exist_ok=True)
    settings = {
        "_class_name": "UNet2DModel",
        "sample_size": 16,
        "block_out_channels": [8, 16],
        "layers_per_block": 1,
        "down_block_types": ["DownBlock2D", "AttnDownBlock2D"],
        "up_block_types": ["AttnUpBlock2D", "UpBlock2D"],
        "attention_head_dim": 4,
        "norm_num_groups": 4,
    }
    (place / "config.json").write_text(json.dumps(settings))


MAKERS: dict[str, Callable[[Path, Random], None]] = {
    "all digits": all_digits,
    "citations": citations,
    "compressed bytes": compressed_bytes,
    "corpus": corpus,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "digits": digits,
    "labelled pictures": labelled_pictures,
    "large pictures": large_pictures,
    "many digits": many_digits,
    "molecules": molecules,
    "pictures": pictures,
    "planetoid": planetoid,
    "segmented pictures": segmented_pictures,
    "series": series,
    "small unet": small_unet,
    "text": text,
    "tokens": tokens,
    "voices": voices,
}
"""The kinds of data, by name."""
