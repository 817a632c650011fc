"""Say which distributions bring an import name."""

from __future__ import annotations

from pathlib import Path

from doctor.timelines.name_file import NameFile

OTHERS = {
    name: words
    for name, *words in map(
        str.split,
        """
cv2 opencv-python opencv-python-headless opencv-contrib-python opencv-contrib-python-headless
onnxruntime onnxruntime onnxruntime-gpu onnxruntime-directml
tensorflow tensorflow tensorflow-cpu tensorflow-macos
triton triton pytorch-triton triton-windows
pynvml nvidia-ml-py pynvml
skimage scikit-image
yaml pyyaml
bs4 beautifulsoup4
dateutil python-dateutil
dotenv python-dotenv
multipart python-multipart
zmq pyzmq
win32api pywin32
win32con pywin32
google.cloud.storage google-cloud-storage
google.auth google-auth
google.generativeai google-generativeai
google.genai google-genai
googleapiclient google-api-python-client
faiss faiss-cpu faiss-gpu
cupy cupy-cuda12x cupy-cuda11x cupy
psycopg2 psycopg2-binary psycopg2
OpenSSL pyopenssl
Crypto pycryptodome
jwt pyjwt
websocket websocket-client
git gitpython
ffmpeg ffmpeg-python
tensorrt tensorrt
flashinfer flashinfer-python
causal_conv1d causal-conv1d
mamba_ssm mamba-ssm
Cython cython
pkg_resources setuptools
distutils setuptools
sentencepiece sentencepiece
tiktoken tiktoken
tables tables
fitz pymupdf
docx python-docx
pptx python-pptx
magic python-magic
serial pyserial
usb pyusb
Levenshtein levenshtein
igraph python-igraph
attr attrs
absl absl-py
pyximport cython
imblearn imbalanced-learn
umap umap-learn
hydra hydra-core
whisper openai-whisper
clip clip-anytorch
segment_anything segment-anything
k_diffusion k-diffusion
controlnet_aux controlnet-aux
imwatermark invisible-watermark
pytorch_msssim pytorch-msssim
torch_scatter torch-scatter
torch_sparse torch-sparse
torch_cluster torch-cluster
pycocotools pycocotools
mpl_toolkits matplotlib
_cffi_backend cffi
sksparse scikit-sparse
past future
ruamel.yaml ruamel-yaml
Bio biopython
rdkit rdkit
wx wxpython
gi pygobject
""".strip().splitlines(),
    )
}
"""Well-known import names, mostly of distributions whose names are not recorded."""


def owners(folder: Path) -> dict[str, list[str]]:
    """Return the distributions of each import name, those with recorded names first."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.names")):
        header = NameFile.read(path).header
        for name in header.imports:
            found.setdefault(name, []).append(header.distribution)
    for name, several in OTHERS.items():
        known = found.setdefault(name, [])
        known += [each for each in several if each not in known]
    return {name: found[name] for name in sorted(found)}
