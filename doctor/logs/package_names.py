"""Names of packages that a line of prose, or a template of an issue, is believed about."""

from __future__ import annotations

ALIASES = {
    "pytorch": "torch",
    "flash-attention": "flash-attn",
    "opencv": "opencv-python",
    "tf": "tensorflow",
    "llama-factory": "llamafactory",
}
"""What people write for a distribution, after its name was normalized."""
_PACKAGES = """
accelerate aiohttp apex auto-gptq autoawq bitsandbytes causal-conv1d chex cumm cupy datasets
deepspeed detectron2 dgl diffusers einops faiss-cpu faiss-gpu flash-attn flashinfer-python flax
gradio huggingface-hub jax jax-cuda12-pjrt jax-cuda12-plugin jax-cuda13-pjrt jax-cuda13-plugin
jaxlib keras lightning llama-cpp-python llamafactory mamba-ssm megatron-core ml-dtypes mmcv
mmcv-full mmdet mmdet3d mmengine mmsegmentation numba numpy nvidia-cudnn-cu12 nvidia-cudnn-cu13
nvidia-dali onnx onnxruntime onnxruntime-directml onnxruntime-gpu open3d opencv-python optax
optimum paddlepaddle paddlepaddle-gpu pandas peft pillow pip protobuf pyarrow pydantic
pytorch-lightning pytorch3d ray safetensors sageattention scikit-learn scipy sentence-transformers
sentencepiece setuptools sglang spconv tensorboard tensorflow tensorflow-gpu tensorflow-macos
tensorflow-metal tensorrt-llm timm tokenizers torch torch-cluster torch-geometric torch-scatter
torch-sparse torchao torchaudio torchcodec torchdata torchmetrics torchtext torchvision
transformer-engine transformers triton triton-windows trl typing-extensions ultralytics unsloth
vllm wheel xformers
"""
KNOWN = frozenset(_PACKAGES.split())
_BESIDE = """
python cuda cudnn os ubuntu windows linux gpu driver nvidia-driver gcc cmake conda macos nvcc rocm
debian centos platform system tensorrt jetpack anaconda docker rust cargo
"""
OTHER = frozenset(_BESIDE.split())
"""What such a line lists beside packages."""
