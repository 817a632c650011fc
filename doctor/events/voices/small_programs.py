"""Programs that people start and do not write: their settings, their models, their files."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "llama.cpp",
        (
            Form(
                "model-path-missing",
                r"Model path does not exist: (?P<file>[^\s{]\S{0,300})",
                ("model path does not exist",),
            ),
            Form(
                "ggml-format-old",
                r"this format is no longer supported \(see https?://github\.com/gg|invalid model "
                r"file '?\S{1,200}'? \(too old, regenerate",
                ("this format is no longer supp", "(too old, regenerate"),
            ),
        ),
    ),
    Voice(
        "pydantic",
        (
            Form(
                "setting-missing",
                r"none is not an allowed value \(type=type_error\.none\.not_allowed\)"
                r"|Field required \[type=missing, input_value=\{\}",
                ("none is not an allowed value", "field required [type=missing"),
            ),
        ),
    ),
    Voice(
        "git",
        (
            Form(
                "merge-unfinished",
                r"(?:Invalid requirement: ['\"]?|^\s{0,12})<{7} (?P<side>HEAD|Updated upstream"
                r"|[\w./-]{1,60})['\"]?(?::|\s*$)",
                ("<<<<<<< ",),
            ),
        ),
    ),
    Voice(
        "TensorFlow",
        (
            Form(
                "tf-kernel-missing",
                r"No OpKernel was registered to support Op '(?P<operation>\w{1,60})'"
                r"|(?P<operation2>\w{2,40}) op currently only supports the NHWC tensor format on "
                r"the CPU",
                ("no opkernel was registered", "only supports the nhwc tensor"),
            ),
        ),
    ),
    Voice(
        "ComfyUI",
        (
            Form(
                "checkpoint-kind-unknown",
                r"'NoneType' object has no attribute '(?P<name>clip_target|unet_config"
                r"|memory_required|manual_cast_dtype|process_clip_state_dict)'",
                ("'nonetype' object has no",),
            ),
        ),
    ),
    Voice(
        "sd-scripts",
        (
            Form(
                "base-model-unfit",
                r"KeyError: '(?P<key>time_embed\.0\.weight|input_blocks\.0\.0\.weight"
                r"|(?:model\.diffusion_model|cond_stage_model|conditioner\.embedders)\.[\w.]{1,100})'",
                ("keyerror: '",),
            ),
        ),
    ),
    Voice(
        "omegaconf",
        (
            Form(
                "configuration-key-missing",
                r"(?:str interpolation key|Interpolation key) '(?P<key>[\w.]{1,100})' not found",
                ("interpolation key '",),
            ),
        ),
    ),
    Voice(
        "Ultralytics",
        (
            Form(
                "data-settings-missing",
                r"Dataset '(?P<file>[^'\n]{1,240})' (?:error \S{0,4} '?[^'\n]{0,240}'? does not "
                r"exist|for task=\w{3,10} not found)|FileNotFoundError: '(?P<file2>[^'\n]{1,240}"
                r"\.ya?ml)' does not exist",
                ("dataset '", "' does not exist"),
            ),
        ),
    ),
    Voice(
        "OpenMMLab",
        (
            Form(
                "class-not-registered",
                r"KeyError: .{0,80}?['\"](?P<name>[\w.]{1,80}) is not in the "
                r"(?P<registry>[\w:]{2,40}(?: \w{2,20})?) registry",
                ("is not in the ",),
            ),
        ),
    ),
)
