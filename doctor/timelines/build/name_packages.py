"""The distributions whose names are recorded."""

from __future__ import annotations

import msgspec


class Covered(msgspec.Struct, frozen=True):
    """One distribution: its import names, the first release of interest, every how many minors."""

    distribution: str
    imports: tuple[str, ...]
    since: str = "0"
    every: int = 1
    patches: bool = False
    """Whether each patch release counts, not only the last of a minor line."""


def _row(line: str) -> Covered:
    name, *options = line.split()
    values = dict(option.split("=") for option in options)
    imports = values.get("imports", name.replace("-", "_").lower()).split(",")
    every = int(values.get("every", "1"))
    return Covered(name, tuple(imports), values.get("since", "0"), every, "patches" in values)


# The first release of each is from about 2020; `every` thins those with a minor each week.
_ROWS = """
transformers since=2.0
numpy since=1.17
torch since=1.7
torchvision since=0.8
huggingface-hub
diffusers
setuptools since=46 imports=setuptools,pkg_resources,_distutils_hack
jax since=0.2.0 every=2 patches=1
keras since=2.3
scipy since=1.4
peft
accelerate
tokenizers since=0.8
datasets since=1.0
pydantic since=1.6
trl
torchaudio since=0.7
torchtext since=0.8
pandas since=1.0
scikit-learn since=0.22 imports=sklearn
lightning imports=lightning,lightning_fabric,lightning_app
pytorch-lightning since=1.0
torchmetrics
timm since=0.3
bitsandbytes since=0.35
triton since=1.0
deepspeed since=0.5
vllm since=0.2
xformers since=0.0.13 patches=1
flash-attn since=1.0
sentence-transformers since=1.0
evaluate
safetensors
optimum
torchdata
torchao
sglang since=0.3
jaxlib since=0.3 every=3 patches=1
flax since=0.3
optax
chex
orbax-checkpoint imports=orbax
tf-keras imports=tf_keras
onnx since=1.7
onnxruntime since=1.6
onnxscript
pydantic-core
pydantic-settings
gradio since=2.0 every=2
gradio-client
fastapi since=0.60 every=2
starlette since=0.13
protobuf since=3.12 imports=google.protobuf
packaging since=20
numba since=0.48
opencv-python since=4.2 imports=cv2
pillow since=7 imports=PIL
matplotlib since=3.1
einops
kornia since=0.4
auto-gptq
autoawq imports=awq,awq_ext
gptqmodel
open-clip-torch imports=open_clip
outlines
xgrammar
lm-eval
llmcompressor
compressed-tensors
unsloth
unsloth-zoo
albumentations since=0.4
importlib-metadata since=1.6
typing-extensions since=3.7.4.2
networkx since=2.4
sympy since=1.5
urllib3 since=1.25
requests since=2.23
werkzeug since=1.0
flask since=1.1
jinja2 since=2.11
markupsafe since=1.1
attrs since=19.3 imports=attr,attrs
click since=7.1
typer
rich since=6 every=2
openai every=6
langchain every=2
langchain-core
tensorflow since=2.1 every=2
mmengine
mmcv since=1.3
mmdet since=2.10
basicsr since=1.3.5
torch-geometric since=1.6
dgl since=0.6
ray since=1.9 every=4
nvidia-ml-py since=11.450 imports=pynvml
ml-dtypes
fsspec since=0.8 every=2
pyarrow since=1.0
moviepy since=1.0.2
librosa since=0.7
gguf
llama-cpp-python since=0.1.30 imports=llama_cpp
notebook since=5.7
gym since=0.12
imageio since=2.6
tensorboard since=1.15
pyyaml since=5 imports=yaml
hydra-core since=1.0 imports=hydra
omegaconf since=2.0
httpx since=0.13
mmsegmentation since=0.9 imports=mmseg
fairscale since=0.1
scikit-image since=0.16 imports=skimage
gymnasium
ultralytics since=8.0
segmentation-models-pytorch since=0.1
ipython since=7 imports=IPython
ipykernel since=5
nbformat since=5
jupyter-client since=6
gensim since=3.8
spacy since=2.3
seaborn since=0.10
xgboost since=1.0
lightgbm since=2.3
shap since=0.35
umap-learn since=0.4 imports=umap
imgaug
scanpy since=1.5
h5py since=2.10
fairseq
sacrebleu since=1.4
allennlp since=1.0
tensorflow-addons since=0.9
tensorflow-hub since=0.8
dm-haiku imports=haiku
distrax
stable-baselines3
aiohttp since=3.6
anyio since=2
websockets since=8
uvicorn since=0.11
jsonschema since=3.2
marshmallow since=3.0
s3fs since=0.4 every=3
cffi since=1.14
psutil since=5.6
tqdm since=4.40
joblib since=0.14
cloudpickle since=1.3
dill since=0.3
multiprocess since=0.70
faster-whisper
openai-whisper imports=whisper
ctranslate2 since=2.0
pyannote-audio imports=pyannote.audio since=2.0
pyannote-core imports=pyannote.core since=4.0
tiktoken
fastai since=2.0
pytorch-ignite imports=ignite since=0.4
torchtune
fschat imports=fastchat
optimum-quanto imports=optimum.quanto
hqq
controlnet-aux
facexlib
gfpgan
rembg since=2.0
trimesh since=3.5 every=2
av since=8
decord
pytorchvideo
audiomentations since=0.16
tensorboardx imports=tensorboardX since=2.0
pybind11 since=2.5
sentencepiece since=0.1.85
pycocotools since=2.0
"""

COVERED = tuple(_row(line) for line in _ROWS.split("\n") if line)
