"""Twenty things that people ask for, and what an answer has to be."""

from __future__ import annotations

from typing import NamedTuple


class Wanted(NamedTuple):
    """One request: arguments of `doctor plan`; of an impossible one, words of its two rules.

    `cheap` ones are resolved at every push, one of each kind.
    """

    arguments: str
    rules: tuple[str, str] | None = None
    pins: str = ""
    cheap: bool = False


WANTED = (
    Wanted("torch --assume gpu=V100,driver=550", pins="torch==2.10.0", cheap=True),
    Wanted("torch --assume gpu=P100,driver=535", pins="torch==2.7.1"),
    Wanted("torch --assume gpu=RTX5090,driver=570", pins="torch==2.10.0"),
    Wanted("torch torchaudio --assume gpu=H100,driver=580", pins="torch==2.14.1"),
    Wanted("vllm --assume gpu=V100,driver=550 --python-version 3.12", pins="torch==2.10.0"),
    Wanted("vllm==0.8.5 --python-version 3.12", pins="transformers==4.", cheap=True),
    Wanted("torch --assume glibc=2.17 --python-version 3.11", pins="torch==2.6.0", cheap=True),
    Wanted("torch --assume os=linux-aarch64,gpu=GB200,driver=580", pins="torch==2."),
    Wanted("bitsandbytes --assume os=macos-15", pins="bitsandbytes==0.", cheap=True),
    Wanted("cupy torch==2.13.0 --python-version 3.12", pins="cupy-cuda13x=="),
    Wanted("torch cupy-cuda12x --assume gpu=A100,driver=535", pins="torch==2.10.0"),
    Wanted(
        "flash-attn --python-version 3.12 --assume gpu=A100,driver=550",
        pins="torch==2.8.0",
        cheap=True,
    ),
    Wanted(
        "xformers flash-attn --python-version 3.12 --assume gpu=A100,driver=550", pins="xformers=="
    ),
    Wanted("torch --python-version 3.9", pins="torch==2.8.0"),
    Wanted("pandas scikit-learn --python-version 3.13", pins="pandas=="),
    Wanted(
        "flash-attn --python-version 3.14 --assume gpu=H100,driver=580",
        ("flash-attn 2.8.3 has wheels for Python >=3.9,<3.14 only", "this is Python 3.14"),
        cheap=True,
    ),
    Wanted(
        "torch --assume gpu=RTX5090,driver=535",
        ("needs an NVIDIA driver >= 570", "this machine has driver 535"),
    ),
    Wanted(
        "torch==2.3 --python-version 3.13",
        ("torch 2.3.0 needs Python >=3.8,<3.13", "this is Python 3.13"),
    ),
    Wanted(
        "vllm --assume gpu=P100,driver=550",
        ("needs a GPU of compute capability >=7.5", "this machine has NVIDIA P100 (sm_60)"),
    ),
    Wanted(
        "vllm==0.8.5 torch==2.13.0 --python-version 3.12",
        ("vllm 0.8.5 needs torch 2.6.0", "you require torch==2.13.0"),
    ),
    Wanted(
        "torch==2.15.0 torchaudio --python-version 3.12",
        ("torchaudio 2.11.0 loads beside torch 2.11.0 to 2.14.1 only", "you require torch==2.15.0"),
    ),
)
