"""Applications: ComfyUI, the web UIs for images, Gradio, whisper, add-ons."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "ComfyUI",
        (
            Form(
                "comfy-no-text-encoder",
                r"clip input is invalid: None",
                ("clip input is invalid",),
            ),
            Form(
                "comfy-file-not-listed",
                r"Value not in list: (?P<input>\w{1,40}): '(?P<file>[^']{1,200})' not in "
                r"(?P<list>\[\]|\[|\(list)",
                ("value not in list: ",),
            ),
            Form(
                "requirement-asserted",
                r"\b(?P<requirement>[A-Za-z][\w.-]{1,60}(?:>=|==|~=|<=|<|>)\d[\w.*,<>=!~]{0,40}) "
                r"requirement not satisfied",
                ("requirement not satisfied",),
            ),
        ),
    ),
    Voice(
        "web UI",
        (
            Form(
                "webui-no-model",
                r"'NoneType' object has no attribute '(?P<name>lowvram|cond_stage_key"
                r"|sd_checkpoint_info)'",
                ("'nonetype' object has no",),
            ),
        ),
    ),
    Voice(
        "Gradio",
        (
            Form(
                "gradio-localhost",
                r"When localhost is not accessible, a shareable link must be created",
                ("when localhost is not accessible",),
            ),
            Form(
                "gradio-schema",
                r"argument of type 'bool' is not iterable",
                ("argument of type 'bool'",),
            ),
        ),
    ),
    Voice(
        "httpx",
        (
            Form(
                "http-core-too-old",
                r"AsyncConnectionPool\.__init__\(\) got an unexpected keyword argument "
                r"'socket_options'",
                ("'socket_options'",),
            ),
        ),
    ),
    Voice(
        "whisper",
        (
            Form(
                "whisper-checksum",
                r"downloaded but the SHA256 checksum does not",
                ("sha256 checksum does not",),
            ),
        ),
    ),
    Voice(
        "ONNX Runtime",
        (
            Form(
                "onnx-file-broken",
                r"INVALID_PROTOBUF ?: ?Load model from (?P<file>\S{1,300}) failed ?: ?Protobuf",
                ("invalid_protobuf",),
            ),
            Form(
                "onnx-operator-missing",
                r"Could not find an implementation for (?:the node )?(?:[^\s:]{1,200}:)?"
                r"(?P<operator>\w{1,60})\((?P<opset>\d{1,3})\)",
                ("could not find an implementation",),
            ),
            Form(
                "onnx-input-shape",
                r"Got invalid dimensions for input: (?P<input>\S{1,100}) for the following "
                r"indices.{0,8}index: ?(?P<axis>\d{1,3}) Got: ?(?P<given>\d{1,9}) Expected: ?"
                r"(?P<wanted>\d{1,9})",
                ("got invalid dimensions for input",),
            ),
            Form(
                "onnx-providers-not-named",
                r"Since ORT 1\.9, you are required to explicitly set the providers",
                ("explicitly set the providers",),
            ),
        ),
    ),
    Voice(
        "LocalAI",
        (
            Form(
                "backend-not-installed",
                r"backend not found: (?P<backend>\S{1,200})|grpc process not found: "
                r"(?P<process>\S{1,200}?)\.? ",
                ("backend not found: ", "grpc process not found"),
            ),
            Form(
                "backend-process-ended",
                r"could not load model: rpc error: code = (?P<code>Canceled|Unavailable) desc",
                ("could not load model: rpc",),
            ),
        ),
    ),
    Voice(
        "Xinference",
        (
            Form(
                "backend-process-ended",
                r"ServerClosed: Remote server (?P<address>unixsocket:\S{1,60}|\S{1,60}) closed",
                ("serverclosed: remote server",),
            ),
        ),
    ),
    Voice(
        "wgpu",
        (
            Form(
                "wgpu-limit",
                r"exceeds `(?P<limit>max_\w{3,60})` limit (?P<allowed>\d{1,15})",
                ("exceeds `max_",),
            ),
            Form(
                "wgpu-shader",
                r"Shader validation error: (?P<what>.{1,200})"
                r"|Compute pipeline creation error: (?P<why>.{1,100})",
                ("shader validation error", "pipeline creation error"),
            ),
        ),
    ),
    Voice(
        "torch.onnx",
        (
            Form(
                "onnx-opset",
                r"Exporting the operator '?(?P<operator>[\w:.]{1,100})'? to ONNX opset version "
                r"(?P<opset>\d{1,3}) is not supported",
                ("exporting the operator",),
            ),
        ),
    ),
    Voice(
        "Keras",
        (
            Form(
                "keras-file-of-other-generation",
                r"(?P<what>expected \d{1,4} variables, but received 0 variables during loading)",
                ("variables during loading",),
            ),
            Form(
                "keras-file-newer",
                r"(?P<what>Unrecognized keyword arguments: \['batch_shape'\]"
                r"|Unknown dtype policy: '?DTypePolicy)",
                ("['batch_shape']", "unknown dtype policy"),
            ),
        ),
    ),
    Voice(
        "OpenVINO",
        (
            Form(
                "openvino-no-gpu",
                r"no supported devices found or an error happened during devices query",
                ("error happened during devices query",),
            ),
            Form(
                "openvino-npu",
                r"(?P<what>No more devices are left|L0 \w{3,30} result: ZE_RESULT_ERROR_\w{3,40})",
                ("no more devices are left", "result: ze_result_error"),
            ),
            Form(
                "openvino-buffer-too-large",
                r"Exceeded max size of memory object allocation: requested (?P<bytes>\d{1,15}) "
                r"bytes, but max alloc size supported by device is (?P<limit>\d{1,15})",
                ("exceeded max size of memory object",),
            ),
        ),
    ),
)
