"""Say which distributions bring an import name."""

from __future__ import annotations

from pathlib import Path

from packaging.utils import canonicalize_name

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
OpenGL pyopengl
GPUtil gputil
Xlib python-xlib
MeCab mecab-python3
PIL pillow
SimpleITK simpleitk
TTS coqui-tts
PyPDF2 pypdf2
PyQt5 pyqt5
antlr4 antlr4-python3-runtime
auto_round auto-round
bert_score bert-score
came_pytorch came-pytorch
cleanfid clean-fid
clip_interrogator clip-interrogator
comet_ml comet-ml
community python-louvain
configargparse configargparse
cuda cuda-python
cython_bbox cython-bbox
decouple python-decouple
discord discord-py
dm_control dm-control
dm_env dm-env
editdistance editdistance
efficientnet_pytorch efficientnet-pytorch
einops_exts einops-exts
ema_pytorch ema-pytorch
face_alignment face-alignment
face_recognition face-recognition
facenet_pytorch facenet-pytorch
fal_client fal-client
faster_whisper faster-whisper
g2p_en g2p-en
haiku dm-haiku
hf_transfer hf-transfer
imageio_ffmpeg imageio-ffmpeg
kornia_rs kornia-rs
lion_pytorch lion-pytorch
llama_index llama-index
lm_eval lm-eval
math_verify math-verify
medpy medpy
mim openmim
mir_eval mir-eval
ml_collections ml-collections
mmaction mmaction2
mmseg mmsegmentation
mujoco_py mujoco-py
nest_asyncio nest-asyncio
nuscenes nuscenes-devkit
open_clip open-clip-torch
orbax orbax-checkpoint
parselmouth praat-parselmouth
pillow_heif pillow-heif
prefetch_generator prefetch-generator
pretty_midi pretty-midi
pxr usd-core
py3nvml py3nvml
pyannote pyannote-audio
pydantic_settings pydantic-settings
pysrt pysrt
pytorch_fid pytorch-fid
pytorch_metric_learning pytorch-metric-learning
pytorch_optimizer pytorch-optimizer
pytorch_wavelets pytorch-wavelets
pywt pywavelets
qwen_vl_utils qwen-vl-utils
rotary_embedding_torch rotary-embedding-torch
rouge_score rouge-score
segmentation_models_pytorch segmentation-models-pytorch
simple_parsing simple-parsing
skopt scikit-optimize
skvideo sk-video
smart_open smart-open
speech_recognition speechrecognition
spellchecker pyspellchecker
stable_baselines3 stable-baselines3
tensorflow_addons tensorflow-addons
tensorflow_datasets tensorflow-datasets
tensorflow_hub tensorflow-hub
tensorflow_probability tensorflow-probability
tensorflow_text tensorflow-text
tf_slim tf-slim
tflite_runtime tflite-runtime
torch_ema torch-ema
torch_fidelity torch-fidelity
torch_geometric torch-geometric
torch_optimizer torch-optimizer
torch_spline_conv torch-spline-conv
vector_quantize_pytorch vector-quantize-pytorch
x_transformers x-transformers
""".strip().splitlines(),
    )
}
"""Well-known import names, mostly of distributions whose names are not recorded."""
_ALIKE = """
addict aiofiles aiohttp alphashape ase asteroid audiocraft audioread av batchgenerators beartype
blobfile bokeh boto3 botocore braceexpand brotli catboost chardet chex chumpy cloudpickle
colorama colorlog compel configobj ctranslate2 cvxopt cvxpy cycler dacite dadaptation dask
datasketch decord deepface deepdiff dgl dill diskcache distrax dlib docopt dominate easydict
easyocr ebooklib einx encodec environs evaluate facexlib fairscale fasttext ffmpy filelock
filterpy fire flask flatbuffers flax fpsample ftfy fvcore gdown gensim geopandas gfpgan glfw
gpytorch gsplat gunicorn gym gymnasium h5py hdbscan hqq htmlmin httpx humanfriendly hyperopt
hyperpyyaml imageio imagehash imagesize imgaug imutils inflect insightface invoke iopath ipdb
ipykernel ipywidgets jaxtyping jieba jiwer joblib jsonlines julius kaleido kenlm ktrain lap lapx
lightgbm lime linformer littleutils llvmlite lmdb loguru loralib lpips lxml lz4 madmom markdown2
matplotlib medmnist mediapipe mistune mlflow mmdet mmdet3d mmengine mmpose modelscope monai
moviepy motmetrics mss mujoco munch natten natsort neptune nerfacc nerfstudio netifaces networkx
nibabel nltk noisereduce nose nptyping num2words numexpr nvitop ogb omegaconf onnxoptimizer
onnxscript onnxsim onnxslim open3d openpyxl optax optuna orjson ortools paddleocr papermill
parameterized parso pathos patool pdf2image pdfplumber pedalboard pexpect phonemizer piexif pims
plotly plyfile pmdarima pooch portalocker praatio pretrainedmodels prettytable prodigyopt psutil
pulp pyannotate pyarrow pybind11 pybullet pycuda pydicom pydot pydub pygame pyglet pygltflib
pyloudnorm pymatting pymeshlab pymongo pynput pyopenjtalk pypdf pypinyin pyquaternion pyrallis
pyrender pystoi pysptk pytesseract pytest python_speech_features pytz pyvista pywavefront
pyworld qdrant_client rapidfuzz rasterio ray realesrgan redis rembg resampy rouge roma rtree
ruptures s3fs sacrebleu sacremoses sageattention schedule screeninfo seaborn seqeval shap
shapely simplejson smplx sortedcontainers soundfile soundcard soxr spacy speechbrain sqlalchemy
statsmodels streamlit submitit supervision swanlab sympy tabulate tenacity tensorboardX
tensorboard tensorstore termcolor terminaltables textblob thinc thop tifffile toml tomli tomlkit
toolz torchao torchcrepe torchdiffeq torchgeo torchinfo torchio torchmetrics torchprofile
torchsde torchsummary torchtune torchtyping torchviz transforms3d trimesh typer tyro ujson
ultralytics unidecode vedo visdom vtk wandb webdataset webrtcvad werkzeug wget whisperx
wordcloud xatlas xgboost xlrd xlsxwriter xxhash yacs yapf youtube_dl yt_dlp zarr zstandard
"""
ALIKE = tuple(_ALIKE.split())
"""Import names that are those of their distributions (PyPI's normal form, PEP 503)."""


def owners(folder: Path) -> dict[str, list[str]]:
    """Return the distributions of each import name, those with recorded names first."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.names")):
        header = NameFile.read(path).header
        for name in header.imports:
            found.setdefault(name, []).append(header.distribution)
    alike: dict[str, list[str]] = {name: [canonicalize_name(name)] for name in ALIKE}
    for name, several in {**alike, **OTHERS}.items():
        known = found.setdefault(name, [])
        known += [each for each in several if each not in known]
    return {name: found[name] for name in sorted(found)}
