"""Lines that were written before the rules: no rule was made from them."""

from __future__ import annotations

SECRETS = (
    (
        "curl-user",
        (
            "+ curl -fsS -u deploy:«Winter-<d4>-Kale» https://nexus.corp.example/repo/torch.whl -o "
            "torch.whl"
        ),
    ),
    ("docker-login", "+ docker login -u ci-bot -p «qm7<w14>» registry.corp.example"),
    (
        "git-clone",
        (
            "fatal: unable to access "
            "'https://oauth2:«glpat-<w20>»@gitlab.corp.example/ml/train.git/': 403"
        ),
    ),
    (
        "hub-token",
        (
            "docker run -e HUGGING_FACE_HUB_TOKEN=«hf_<a34>» "
            "ghcr.io/huggingface/text-generation-inference"
        ),
    ),
    ("openai-project", 'export OPENAI_API_KEY="«sk-proj-<w74>T3BlbkFJ<w74>»"'),
    (
        "headers-dict",
        "headers={'Accept': '*/*', 'Authorization': 'Bearer «<w40>»', 'Connection': 'keep-alive'}",
    ),
    (
        "query",
        (
            "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: "
            "https://api.example.com/v1/models?api_key=«<w32>»&n=1"
        ),
    ),
    ("aws-session", "aws_session_token = «<b180>»"),
    ("set-cookie", "< Set-Cookie: sessionid=«<w32>»; Path=/; HttpOnly; SameSite=Lax"),
    ("cookie", "> Cookie: theme=dark; sid=«s%3A<w32>»"),
    ("x-api-key", "-H 'x-api-key: «<w36>»' -H 'accept: application/json'"),
    (
        "redis",
        (
            "redis.exceptions.ConnectionError: Error 111 connecting to "
            "redis://:«R3d<w12>»@redis:6379/0"
        ),
    ),
    (
        "postgres-slash",
        (
            "sqlalchemy.exc.OperationalError: "
            "postgresql+psycopg2://app:«p/<w6>@<w6>»@db.internal:5432/train"
        ),
    ),
    (
        "mongo",
        (
            "pymongo.errors.ConfigurationError: "
            "mongodb+srv://root:«<w16>»@cluster0.ab1cd.mongodb.net/?retryWrites=true"
        ),
    ),
    (
        "libpq",
        (
            "psycopg2.OperationalError: could not connect: host=db user=app password=«tr<w10>» "
            "dbname=train"
        ),
    ),
    ("netrc", "machine api.wandb.ai login user password «<h40>»"),
    (
        "openssh-key",
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNza<b55>»\n«<b70>»\n«<b30>»==\n-----END "
            "OPENSSH PRIVATE KEY-----"
        ),
    ),
    ("wandb-yaml", "      WANDB_API_KEY: «<h40>»"),
    ("wandb-login", "$ wandb login --relogin «<h40>»"),
    ("comet", 'experiment = comet_ml.Experiment(api_key="«<w25>»", project_name="train")'),
    ("ngc", "NGC_CLI_API_KEY=«nvapi-<w60>» ngc registry model list"),
    ("vllm-serve", "vllm serve meta-llama/Llama-3.1-8B --api-key «local-<w12>» --port 8000"),
    (
        "vllm-args",
        (
            "INFO args: Namespace(host=None, port=8000, api_key=['«team-<w14>»'], "
            "allow_credentials=False)"
        ),
    ),
    (
        "pip-token",
        (
            "Looking in indexes: https://__token__:«<w48>»@pypi.corp.example/simple, "
            "https://pypi.org/simple"
        ),
    ),
    ("uv-password", "UV_INDEX_CORP_PASSWORD=«zz-<w14>» uv sync"),
    (
        "azure-storage",
        "DefaultEndpointsProtocol=https;AccountName=mlstore;AccountKey=«<b86>»==;EndpointSuffix=core.windows.net",
    ),
    (
        "azure-sas",
        "https://mlstore.blob.core.windows.net/w/model.bin?sv=2022-11-02&sr=b&sig=«<w43>%3D»&se=2026-01-01",
    ),
    (
        "s3-presigned",
        "GET https://b.s3.amazonaws.com/m.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=«<h64>»&X-Amz-Date=20260101T000000Z",
    ),
    (
        "service-account",
        (
            '  "client_id": "<d21>", "private_key": "-----BEGIN PRIVATE '
            'KEY-----\\n«<b64>»\\n«<b64>»\\n-----END PRIVATE KEY-----\\n",'
        ),
    ),
    ("telegram", "POST https://api.telegram.org/bot«<d10>:AA<w33>»/sendMessage failed"),
    ("discord", "requests.post('https://discord.com/api/webhooks/<d18>/«<w68>»')"),
    ("git-prompt", "Password for 'https://bob@git.corp.example': «mango<d4>tree»"),
    ("kaggle", '{"username":"bob","key":"«<h32>»"}'),
    ("login-call", '    login(token="«hf_<a34>»", add_to_git_credential=True)'),
    ("sentry-dsn", "sentry_sdk.init(dsn='https://«<h32>»@o<d6>.ingest.sentry.io/<d7>')"),
    ("environ-repr", "environ({'PATH': '/usr/bin', 'DB_PASSWD': '«kiwi-<w9>»', 'HOME': '/root'})"),
    ("replicate", "replicate.exceptions.ReplicateError: invalid token r8_«<w37>»"),
    ("windows-set", "set PGPASSWORD=«Sand<w8>»&& psql -h db -U app"),
    ("npmrc", "//registry.npmjs.org/:_authToken=«npm_<w36>»"),
    ("sshpass", "sshpass -p '«let<w9>me»' ssh -o StrictHostKeyChecking=no bob@gpu-node-7"),
    ("mysql-attached", "mysqldump: exec: mysqldump -uroot -p«mP<w10>» --all-databases"),
    ("openssl", "openssl enc -d -aes-256-cbc -in w.enc -passin pass:«oak<w10>»"),
    ("jupyter", "    http://127.0.0.1:8888/lab?token=«<h48>»"),
    ("slack-hook", "SLACK_URL=https://hooks.slack.com/services/«T<v8>/B<v8>/<w24>»"),
    ("escaped-json", '"body": "{\\"user\\": \\"bob\\", \\"password\\": \\"«plum<w8>»\\"}"'),
    ("hash-rocket", "{:user => 'bob', :secret_key_base => '«<h64>»'}"),
)

HARMLESS = (
    "  × basic installation failed: error in setup command",
    "Basic information about the model: 32 layers, bearer of 8 heads",
    (
        'GenerationConfig {"bos_token_id": 128000, "eos_token_id": [128001, 128009], '
        '"pad_token_id": '
        "0}"
    ),
    "Setting `pad_token_id` to `eos_token_id`:151643 for open-end generation.",
    "{'input_ids': tensor([[1, 2]]), 'token_type_ids': None, 'attention_mask': tensor([[1, 1]])}",
    (
        "FutureWarning: The `use_auth_token` argument is deprecated and will be removed in v5 of "
        "Transformers. use_auth_token=True"
    ),
    (
        "LlamaTokenizerFast(name_or_path='m', vocab_size=32000, special_tokens={'bos_token': "
        "'<s>', 'eos_token': '</s>', 'pad_token': '[PAD]'})"
    ),
    (
        "INFO 11-22 10:01:02 metrics.py:351] Avg prompt throughput: 1200.3 tokens/s, Avg "
        "generation "
        "throughput: 30.1 tokens/s"
    ),
    "INFO config.py:905] Chunked prefill is enabled with max_num_batched_tokens=512.",
    (
        "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens "
        "that can be stored in KV cache (12816)."
    ),
    "  Commit hash: 5ef669de080814067961f28357256e8fe27544f5",
    "HEAD is now at 8ddddf2 Merge pull request #1234 from user/fix-keys",
    (
        "Collecting torch==2.5.1+cu124 "
        "--hash=sha256:0f1c2d3e4b5a69788796a5b4c3d2e1f00f1c2d3e4b5a69788796a5b4c3d2e1f0"
    ),
    (
        "Using cached "
        "https://files.pythonhosted.org/packages/d1/3e/0f1c2d3e4b5a69788796a5b4c3d2e1f0/triton-3.1.0-cp311-cp311-manylinux2014_x86_64.whl#sha256=6a5b4c3d2e1f00f1c2d3e4b5a69788796a5b4c3d2e1f00f1c2d3e4b5a6978879"
    ),
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-8f3d1c5e-1a2b-4c3d-9e8f-0a1b2c3d4e5f)",
    "CUDA_VISIBLE_DEVICES=GPU-8f3d1c5e-1a2b-4c3d-9e8f-0a1b2c3d4e5f,MIG-5c2f1e3d-7a8b-5c6d-9e0f-112233445566",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'",
    (
        "RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict: "
        '"transformer.h.0.attn.c_attn.weight".'
    ),
    'Unexpected key(s) in state_dict: "lm_head.weight", "model.embed_tokens.weight".',
    (
        "torch._inductor.exc.InductorError: "
        "cache_key=fxa2bq7xk4tq3zk5nqzjv2m3c6l6k5p2q7r8s9t0u1v2w3x4y5z6"
    ),
    (
        '/tmp/torchinductor_root/c7/cc7mbr6yljxz3xkrwnd2b2yzpq3m2e7v4x6k5j4h3g2f1d0s9a8z.py", line '
        "42, in call"
    ),
    (
        "TypeError: generate() got an unexpected keyword argument 'max_new_tokens'; "
        "max_new_tokens=20 was given"
    ),
    (
        "    def from_pretrained(cls, path: str, token: Optional[str] = None, revision: str = "
        '"main") -> Self:'
    ),
    (
        '  File "/usr/lib/python3.11/site-packages/huggingface_hub/utils/_auth.py", line 92, in '
        "get_token"
    ),
    (
        "    hidden_states, key_value_states=key_value_states, past_key_value=past_key_value, "
        "key_padding_mask=None"
    ),
    (
        "huggingface_hub.errors.LocalTokenNotFoundError: Token is required (`token=True`), but no "
        "token found. You need to provide a token or be logged in."
    ),
    (
        "OSError: You are trying to access a gated repo. Make sure to have access to it and pass a "
        "token: see https://huggingface.co/settings/tokens"
    ),
    "remote: Support for password authentication was removed on August 13, 2021.",
    "error: secret: not found: docker build --secret id=hf_token,env=HF_TOKEN .",
    "docker run --gpus all -p 8000:8000 -e HF_TOKEN=$HF_TOKEN vllm/vllm-openai:latest",
    (
        "mkdir -p /workspace/checkpoints && python -m torch.distributed.run --nproc-per-node 8 "
        "train.py"
    ),
    (
        "image: nvcr.io/nvidia/pytorch:24.10-py3"
        "@sha256:5b4c3d2e1f00f1c2d3e4b5a69788796a5b4c3d2e1f00f1c2d3e4b5a697887960"
    ),
    "pip install git+https://git@github.com/Dao-AILab/flash-attention.git@v2.7.4.post1",
    (
        "undefined symbol: "
        "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    ),
    (
        "nvcc fatal : Unsupported gpu architecture 'compute_120'; -gencode "
        "arch=compute_120,code=sm_120"
    ),
    (
        "SyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON at JSON.parse: "
        "token: identifier"
    ),
    (
        "INFO: authentication: disabled; author=Jane; authors: the PyTorch team; Author-email: "
        "packages@pytorch.org"
    ),
    "WARNING: keyring: no backend; auth=<requests.auth.HTTPBasicAuth object at 0x7f3a2b1c0d10>",
    "loss 2.3412 | lr 3.00e-04 | norm 0.2841 | tok/sec 165000.12 | tokens: 524288 | step 19/19073",
    (
        "sampling_params: SamplingParams(n=1, temperature=0.7, stop_token_ids=[151645], "
        "max_tokens=256, detokenize=True)"
    ),
    (
        "NCCL version 2.21.5+cuda12.4; ncclUniqueId: 0x8a7b6c5d4e3f2a1b; commId "
        "0x5f4e3d2c1b0a9988 - "
        "Init COMPLETE"
    ),
    (
        "Tokenizer class: Qwen2TokenizerFast, secret-free build, passwordless sudo: yes, compass: "
        "north"
    ),
    (
        "error[E0433]: failed to resolve: use of undeclared crate or module `candle_core` --> "
        "src/keys.rs:12:5"
    ),
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: "
        "MetadataIncompleteBuffer; __metadata__: {'format': 'pt'}"
    ),
)
