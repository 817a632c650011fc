"""Kinds of secrets as logs hold them, and lines that look alike and hold none.

For `«`, `»` and `<w20>` see lines.py.
"""

from __future__ import annotations

SECRETS = (
    # Behind another name
    ("name-in-message", "RuntimeError: password=«hunter<d6>»"),
    ("variable-in-message", "wandb: WANDB_API_KEY=«<h40>»"),
    ("env-prefix", "env: TOKEN=«<w24>»"),
    ("args-prefix", "args: --password=«tiger<d4>tiger»"),
    ("url-query", "GET https://x.example/simple?token=«<w24>»"),
    ("command-in-quotes", "cmd='TOKEN=«<w20>» python x.py'"),
    ("json-message", '"message": "connect failed: password=«blue<d5>whale»"'),
    ("key-value-list", "conn: host=db;user=app;pwd=«zebra<d5>»;timeout=3"),
    ("nested-colons", "config: db: password: «otter-<d5>»"),
    ("dict-in-list", "[{'name': 'API_TOKEN', 'value': 1}, {'API_TOKEN': '«<w28>»'}]"),
    ("export-many", "export A=1 B=2 HF_TOKEN=«hf_<a34>» C=3"),
    ("docker-env", "docker run -e WANDB_API_KEY=«<h40>» -e X=1 image"),
    ("dockerfile-env", "Step 4/9 : ENV HF_TOKEN «hf_<a34>»"),
    ("dockerfile-arg", "#8 [3/7] RUN GITHUB_TOKEN=«ghp_<w36>» pip install -r requirements.txt"),
    (
        "build-argument",
        "<missing> 3 weeks ago RUN |1 NETRC_PW=«<w18>» /bin/sh -c pip install -r req.txt",
    ),
    (
        "conda-channel",
        (
            "HTTP 401 UNAUTHORIZED for url "
            "<https://conda.anaconda.org/t/«da-<h36>»/acme/linux-64/repodata.json>"
        ),
    ),
    # Shapes
    ("aws-key-id", "using key «AKIA<v16>» from the environment"),
    ("aws-session-id", "assumed role with «ASIA<v16>»"),
    ("aws-secret", "AWS_SECRET_ACCESS_KEY=«<b40>»"),
    ("google-api", "https://maps.example/api?q=1 with «AIza<w35>»"),
    ("google-oauth", "access token «ya29.a0<w60>» expired"),
    ("google-client-secret", "client «GOCSPX-<w28>»"),
    ("google-refresh", "refresh 1//0«<w60>» failed"),
    ("jwt", "decoded «eyJ<w30>.eyJ<w60>.<w43>» with HS256"),
    ("jwt-cut", "Invalid header string: «eyJ<w60>.eyJ<w20>»"),
    ("gitlab-routable", "remote: «glpat-<w30>.<h2><h7>» denied"),
    ("gitlab-deploy", "cloned with «gldt-<w20>»"),
    ("gitlab-runner", "runner «glrt-<w20>» registered"),
    ("gitlab-job", "job «glcbt-64_<w20>»"),
    ("slack-bot", "slack: «xoxb-<d12>-<d12>-<w24>»"),
    ("slack-app", "slack: «xapp-1-<v10>-<d12>-<h32>»"),
    ("stripe", "charge with «sk_live_<w24>»"),
    ("sendgrid", "mail: «SG.<w22>.<w43>»"),
    ("databricks", "spark: «dapi<h32>»"),
    ("replicate", "replicate «r8_<w37>»"),
    ("groq", "groq «gsk_<w52>»"),
    ("nvidia", "nim «nvapi-<w64>»"),
    ("docker-pat", "hub «dckr_pat_<w27>»"),
    ("vault", "vault «hvs.<w95>»"),
    ("github-pat", "fatal: could not read from ghp: «ghp_<w36>»"),
    ("github-fine", "checkout with «github_pat_<w22>_<w59>»"),
    ("github-app", "installation «ghs_<w36>»"),
    ("hugging-face", "huggingface: «hf_<a34>» is invalid"),
    (
        "openai",
        (
            "openai.AuthenticationError: Incorrect API key provided: «sk-<w48>». You can find your "
            "API key"
        ),
    ),
    ("openrouter", "router «sk-or-v1-<h64>»"),
    ("anthropic", "claude «sk-ant-api03-<w93>AA»"),
    ("xai", "grok «xai-<w80>»"),
    ("npm", "npm «npm_<w36>»"),
    ("pypi", "twine: «pypi-AgEIcHlwaS5vcmc<w90>»"),
    ("langsmith", "trace «lsv2_pt_<h32>_<h10>»"),
    ("pinecone", "index «pcsk_<w60>»"),
    ("runpod", "pod «rpa_<w40>»"),
    ("tailscale", "ts «tskey-auth-<w17>-<w32>»"),
    ("digitalocean", "do «dop_v1_<h64>»"),
    ("supabase", "db «sbp_<h40>»"),
    ("atlassian", "jira «ATATT3x<w60>»"),
    ("shopify", "shop «shpat_<h32>»"),
    ("postman", "pm «PMAK-<h24>-<h34>»"),
    ("grafana", "dash «glsa_<w32>_<h8>»"),
    ("terraform", "tfe «<w14>.atlasv1.<w65>»"),
    ("pulumi", "stack «pul-<h40>»"),
    ("doppler", "dp: «dp.pt.<w43>»"),
    ("linear", "issue «lin_api_<w40>»"),
    ("planetscale", "ps «pscale_tkn_<w40>»"),
    ("azure-client-secret", "az login failed for secret (<w3>8Q~«<w34>»)"),
    ("age-key", "AGE-SECRET-KEY-1«QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE»"),
    ("discord-hook", "https://discordapp.com/api/webhooks/<d18>/«<w68>»"),
    ("slack-hook", "notify https://hooks.slack.com/services/«T<v8>/B<v10>/<w24>»"),
    (
        "teams-hook",
        "https://corp.webhook.office.com/webhookb2/«<h8>-<h4>-<h4>-<h4>-<h12>»@«<h8>-<h4>-<h4>-<h4>-<h12>»/IncomingWebhook/«<h32>»/x",
    ),
    ("telegram", "bot token <d9>:AA«<w33>»"),
    ("vendor-name", "snyk_token = '«<h8>-<h4>-4<h3>-8<h3>-<h12>»'"),
    ("very-long", "AWS_SESSION_TOKEN=«<b900><b900>»"),
    # PEM
    (
        "pem",
        (
            "-----BEGIN RSA PRIVATE KEY-----\n«MIIE<b60>»\n«<b64>»\n«<b20>»==\n-----END RSA "
            "PRIVATE "
            "KEY-----"
        ),
    ),
    (
        "pem-escaped",
        (
            'key = "-----BEGIN PRIVATE KEY-----\\n«MIIE<b60>»\\n«<b64>»\\n-----END PRIVATE '
            'KEY-----\\n"'
        ),
    ),
    (
        "pem-one-line",
        "TLS_KEY=-----BEGIN EC PRIVATE KEY----- «MHcC<b60>» «<b40>» -----END EC PRIVATE KEY-----",
    ),
    (
        "pem-cut",
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\n«b3Bl<b66>»\n«<b70>»\nTraceback (most recent "
            "call "
            "last):"
        ),
    ),
    (
        "pem-prefixed",
        (
            "app-1  | -----BEGIN PRIVATE KEY-----\napp-1  | «MIIE<b60>»\napp-1  | «<b64>»\napp-1  "
            "| "
            "-----END PRIVATE KEY-----"
        ),
    ),
    ("pem-begun", "«<b64>»\n«<b64>»\n«<b24>»==\n-----END RSA PRIVATE KEY-----"),
    (
        "pgp",
        (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«lQOY<b60>»\n«<b64>»\n=abcd\n-----END PGP "
            "PRIVATE KEY BLOCK-----"
        ),
    ),
    # Azure, presigned addresses
    ("account-key", "AccountName=store;AccountKey=«<b86>==»;"),
    (
        "shared-access-key",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=«<b43>=»",
    ),
    ("sas", "https://s.blob.core.windows.net/c/b?sp=r&sig=«<b43>%3D»"),
    ("amz-token", "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=«<w120>»&X-Amz-Expires=60"),
    ("amz-credential", "https://b.s3.amazonaws.com/k?X-Amz-Credential=«AKIA<v16>»%2F20260101"),
    ("goog-signature", "https://storage.googleapis.com/b/o?X-Goog-Signature=«<h120>»"),
    ("azure-devops", "AZURE_DEVOPS_EXT_PAT=«<l52>»"),
    # Names
    ("signing-key", "SIGNING_KEY=«<w32>»"),
    ("pat", "GH_PAT=«<w40>»"),
    ("auth", "AUTH=«<w24>»"),
    ("npm-auth", "_auth=«<b40>»"),
    ("json-auth", '{"auths": {"ghcr.io": {"auth": "«<b44>»"}}}'),
    ("mysql-pwd", "MYSQL_PWD=«koala<d4>» mysqldump app"),
    ("json-key", '{"username": "bob", "key": "«<h32>»"}'),
    ("yaml-password", "db:\n  password: «gecko<d4>»"),
    ("passphrase", "ssh key passphrase: «salmon-<d4>»"),
    ("camel-case", 'clientSecret: "«<w32>»", accessToken: "«<w40>»"'),
    ("pg-password", "PGPASSWORD='«p g <w8>»' psql"),
    ("quoted-spaces", 'password="«mellow horse <d4>»"'),
    ("flask", "SECRET_KEY = '«<w50>»'"),
    ("rocket", '"api_key" => "«<w32>»"'),
    ("walrus", "token := «<w40>»"),
    ("escaped-json", '{"body":"{\\"token\\": \\"«<w30>»\\"}"}'),
    ("keyword-argument", "    client = Client(url, api_key='«<w32>»')"),
    ("tuple-auth", "requests.get(u, auth=('bob', '«llama<d4>»'))"),
    ("environ-item", 'os.environ["HF_TOKEN"] = "«hf_<a34>»"'),
    ("uv-credentials", "UV_PUBLISH_TOKEN=«pypi-<w60>»"),
    ("twine-password", "TWINE_PASSWORD=«ferret-<w9>» twine upload dist/*"),
    ("netrc-lines", "machine github.com\n  login bob\n  password «badger<d4>»"),
    # Headers
    ("bearer", "Authorization: Bearer «<w40>»"),
    ("token-scheme", "Authorization: token «<w40>»"),
    ("basic", "Authorization: Basic «Ym9iOmh1bnRlcjI<b3>»"),
    ("proxy", "Proxy-Authorization: Basic «Ym9iOmh1bnRlcjI<b3>»"),
    ("cookie", "Cookie: session=«<w32>»; other=«<w20>»"),
    ("set-cookie", "set-cookie: id=«<w32>»; HttpOnly"),
    ("header-list", "[('Authorization', 'Bearer «<w40>»'), ('Accept', '*/*')]"),
    ("private-token", "PRIVATE-TOKEN: «<w20>»"),
    ("curl-header", "curl -H 'Authorization: Bearer «<w30>»' https://x.example"),
    (
        "bytes-header",
        "send: b'GET / HTTP/1.1\\r\\nAuthorization: Bearer «<w30>»\\r\\nHost: x\\r\\n'",
    ),
    # Command lines
    ("password-option", "tool --password «mole<d5>» --verbose"),
    ("token-option", "huggingface-cli login --token «hf_<a34>»"),
    ("short-password", "docker login -u bob -p «lynx<d5>» ghcr.io"),
    ("argv", "['tool', '--password', '«crane<d5>»', '--verbose']"),
    ("argv-json", '["vllm", "serve", "m", "--api-key", "«<w24>»"]'),
    ("wandb-login", "wandb login «<h40>»"),
    ("stdin", "echo «goose<d5>» | docker login -u bob --password-stdin"),
    ("redis-cli", "redis-cli -h cache -a «heron<d5>» ping"),
    ("vault-login", "vault login «s.<w24>»"),
    ("aws-configure", "aws configure set aws_secret_access_key «<b40>»"),
    # Sentences
    ("password-is", "the password is «stork<d5>»"),
    ("password-for", "Password for bob: «finch<d5>»"),
    ("token-is", "your token is «<w32>»"),
    ("identified-by", "CREATE USER 'bob' IDENTIFIED BY '«raven<d5>»'"),
    # Addresses
    ("url", "https://alice:«S3cret<d4>»@index.example.org/simple"),
    ("url-user-alone", "--extra-index-url https://«<w40>»@pkgs.example.org/simple"),
    ("url-slash", "https://alice:«pa/ss<d5>»@index.example.org/simple"),
    ("url-at", "https://alice:«p@ss<d5>»@index.example.org/simple"),
    ("url-slash-at", "https://alice:«p/a@ss<d5>»@index.example.org/simple"),
    ("url-cut", "HTTPError for https://alice:«S3cretPassw0rd<d4>»"),
    ("no-scheme", "proxy alice:«S3cret<d4>»@proxy.example.org:3128"),
    ("index-url", "PIP_INDEX_URL=https://ci:«<w20>»@nexus.example.org/simple pip install x"),
    ("git-push", "To https://x-access-token:«ghs_<w36>»@github.com/o/r"),
    ("path", "/home/x/cache/hf_«<w30>»/model.bin"),
    # Across lines and escapes
    (
        "wrapped",
        (
            "RUN pip install --no-cache-dir -r requirements.txt && export "
            "HF_TOKEN=hf_«<w14>\n<w20>» "
            "done"
        ),
    ),
    (
        "wrapped-name",
        (
            "  WARNING: the environment of the process that failed was: USER=x "
            "HF_TOK\nEN=«hf_<w34>» "
            "PATH=/usr/bin"
        ),
    ),
    (
        "wrapped-url",
        (
            "Looking in indexes: https://pypi.org/simple, "
            "https://ci-reader:«S3cret\nPassw0rd<d4>»@nexus.example.org/simple"
        ),
    ),
)

HARMLESS = (
    "passwd: files systemd",
    "basic installation failed",
    "Basic information",
    "eos_token_id=2",
    "token_type_ids=None",
    "use_auth_token=True",
    "pad_token='<pad>'",
    "num_tokens: 4096",
    "tokens per second: 30",
    "max_new_tokens=20",
    "cache_key=c7mbr6yljxz3xkrwnd2b2yzpq3m2e7v4",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'",
    "KeyError: 'CUDA_HOME'",
    "torch==2.5.1+cu124",
    "UUID: GPU-12345678-90ab-cdef-1234-567890abcdef",
    "commit 152b45f0c1d2e3f4a5b6c7d8e9f00112233445566",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "bearer token missing",
    "The bearer of the news",
    "basic block",
    "password: ********",
    "password=None",
    "token=None, revision=None",
    "Password:",
    "Enter password: ",
    'password authentication failed for user "app"',
    "api_key: str | None = None",
    "api_key=os.environ['OPENAI_API_KEY']",
    "token = get_token()",
    "self.token = token",
    "headers = {'Authorization': f'Bearer {token}'}",
    "--token TOKEN         the token of the hub",
    "--api-key <key>",
    "hf_hub_download(repo_id='x', filename='config.json')",
    "hf_quantizer_config hf_transformers_version hf_processor_cache",
    "sk-learn is deprecated, use scikit-learn",
    "from sklearn.utils import gen_batches",
    "tokenizer.eos_token = tokenizer.pad_token",
    "tokenizer_config.json: 100%|██████████| 50.5k/50.5k [00:00<00:00, 1.2MB/s]",
    "special_tokens_map.json added_tokens.json tokenizer.model",
    "past_key_values=DynamicCache(layers=[...])",
    "key_states = repeat_kv(key_states, self.num_key_value_groups)",
    "q_proj.weight, key: torch.Size([4096, 4096])",
    "for key, value in state_dict.items():",
    "Unexpected token: punc (.)",
    "error: expected one of `,` or `>`, found token `{`",
    "git+https://github.com/NVIDIA/apex@23.05",
    "git@github.com:pytorch/pytorch.git",
    "ssh://git@github.com/pytorch/pytorch.git",
    (
        "image nvcr.io/nvidia/pytorch:24.10-py3"
        "@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    ),
    "http://localhost:8000/v1/models",
    "tcp://127.0.0.1:29500",
    "https://unpkg.com/@scope/pkg@1.2.3/index.js",
    "https://hf.co/settings/tokens",
    "https://download.pytorch.org/whl/cu124",
    "memcpy@GLIBC_2.14 undefined; symbol: __cxa_throw@CXXABI_1.3",
    "/usr/include/c++/11/bits/basic_string.h:1234: basic_string",
    "nvcc -gencode=arch=compute_90,code=sm_90 -O3 -std=c++17",
    "ninja: build stopped: subcommand failed.",
    "auth: no credentials found, continuing anonymously",
    "Authorization: required",
    "author='PyTorch Team', author_email='packages@pytorch.org'",
    (
        "cookiecutter==2.6.0 keyring==25.0 keyutils==1.6 secretstorage==3.3 tokenizers==0.20.1 "
        "passlib==1.7.4"
    ),
    "Requirement already satisfied: python-jose[cryptography] in ./lib",
    "monkeypatch.setattr(os, 'environ', {})",
    "compat.cuda-driver.driver = violated",
    "torch._C._cuda_getDeviceCount() path=/usr/local/cuda-12.4/compat",
    "session: 3 warnings, 12 passed in 4.21s",
    "signature: (input: Tensor, other: Tensor) -> Tensor",
    "operator torchvision::nms does not exist",
    "Primary key: id; foreign key: user_id; partition_key=2024-01-01",
    "GPU-8f3d1c5e MIG-GPU-8f3d1c5e/1/0",
    "PWD=/workspace OLDPWD=/root",
    "docker run -p 8000:8000 -p 9090:9090 image",
    "ssh -p 2222 node1",
    "mkdir -p build && cd build && cmake -DCMAKE_BUILD_TYPE=Release ..",
    "python -m pip install -U pip==24.0",
    "curl -u is not supported here",
    "secrets: inherit",
    "client_secret_file=/run/secrets/client",
    "password_file: /etc/app/pw",
    "the token is required to access this repo",
    "Token is valid (permission: read).",
    "Your token has been saved to /root/.cache/huggingface/token",
    "You have selected `sigmoid` as scoring; sig=0.5",
    (
        "FAILED tests/test_modeling_llama.py::test_generate_with_static_cache_2 - "
        "live_range_analysis_v2 ext_modules_v2_list"
    ),
    "num_key_value_heads=8, head_dim=128, key_dim: 64",
)
