"""Libraries for training: DeepSpeed, accelerate, Lightning, PEFT, TRL, Megatron."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "DeepSpeed",
        (
            Form(
                "batch-sizes-differ",
                r"train_batch_size is not equal to micro_batch_per_gpu \* gradient_acc_step \* "
                r"world_size (?P<whole>\d{1,9}) != (?P<micro>\d{1,9}) \* (?P<steps>\d{1,9}) \* "
                r"(?P<world>\d{1,9})",
                ("train_batch_size is not equal",),
            ),
            Form(
                "zero-ranks-differ",
                r"disagreement between rank0 and rank(?P<rank>\d{1,6})",
                ("disagreement between rank0",),
            ),
            Form(
                "zero-in-flight",
                r"RuntimeError: still have inflight params",
                ("still have inflight params",),
            ),
            Form(
                "zero-empty-parameter",
                r"start \(0\) \+ length \(\d{0,9}\) exceeds dimension size \(\d{1,9}\)",
                ("exceeds dimension size",),
            ),
            Form(
                "no-sync-with-zero",
                r"no_?sync context manager is incompatible with gradient ?partitioning logic of "
                r"ZeRO stage (?P<stage>\d)|(?i:no.?sync context manager is incompatible)",
                ("context manager is incompatible",),
            ),
        ),
    ),
    Voice(
        "Megatron",
        (
            Form(
                "world-not-divisible",
                r"world[_ ]size \(?(?P<world>\d{1,6})\)? is not divisible by "
                r"(?P<what>[a-z_ ]{1,60}?) ?\(?(?P<parts>\d{1,6})\)?",
                ("is not divisible by",),
            ),
            Form(
                "not-divisible",
                r"AssertionError: (?P<size>\d{1,7}) is not divisible by (?P<parts>\d{1,5})\s?$",
                ("is not divisible by",),
            ),
            Form(
                "parallel-group-twice",
                r"(?P<what>tensor model|pipeline model|data|context) parallel group is already "
                r"initialized",
                ("parallel group is already",),
            ),
        ),
    ),
    Voice(
        "accelerate",
        (
            Form(
                "quantized-on-other-device",
                r"can't train a model that has been loaded in 8-bit (?:or 4-bit )?precision on a "
                r"different device",
                ("can't train a model that has been",),
            ),
            Form(
                "quantized-model-spills",
                r"Some modules are dispatched on the CPU or the disk",
                ("dispatched on the cpu or the disk",),
            ),
        ),
    ),
    Voice(
        "Lightning",
        (
            Form(
                "metric-not-logged",
                r"(?P<who>ModelCheckpoint|EarlyStopping)\(monitor='?(?P<metric>[\w/.-]{1,80}?)'?\) "
                r"not found in the returned metrics: \[(?P<metrics>[^\]]{0,400})\]",
                ("not found in the returned metrics",),
            ),
            Form(
                "metric-not-logged",
                r"(?P<who>ReduceLROnPlateau) conditioned on metric (?P<metric>[\w/.-]{1,80}) which "
                r"is not available\. Available metrics are: \[(?P<metrics>[^\]]{0,400})\]",
                ("conditioned on metric",),
            ),
            Form(
                "metric-not-logged",
                r"(?P<who>Early stopping) conditioned on metric `(?P<metric>[\w/.-]{1,80})` which "
                r"is not available\. Pass in or modify your `EarlyStopping` callback to use any of "
                r"the following: `?(?P<metrics>[^\n`]{0,400})",
                ("conditioned on metric",),
            ),
            Form(
                "scheduler-of-newer-torch",
                r"The provided lr scheduler `(?P<scheduler>\w{1,60})` doesn't follow PyTorch's "
                r"LRScheduler API",
                ("doesn't follow pytorch's lrscheduler",),
            ),
        ),
    ),
    Voice(
        "PEFT",
        (
            Form(
                "target-modules-missing",
                r"Target modules (?P<modules>[^\n]{1,200}?) not found in the base model",
                ("target modules ",),
            ),
        ),
    ),
    Voice(
        "transformers",
        (
            Form(
                "half-precision-needs-gpu",
                r"FP16 Mixed precision training with AMP.{0,120}can only be used on CUDA"
                r"|fp16 mixed precision requires a GPU",
                ("fp16 mixed precision",),
            ),
        ),
    ),
    Voice(
        "torch",
        (
            Form(
                "half-precision-weights",
                r"Attempting to unscale FP16 gradients",
                ("unscale fp16 gradients",),
            ),
            Form(
                "generator-on-device",
                r"Device type (?P<device>\w{2,12}) is not supported for torch\.Generator\(\) api"
                r"|Expected an? '?(?P<wanted>\w{2,12})'? device type for generator but found "
                r"'?(?P<found>\w{2,12})",
                ("for torch.generator()", "device type for generator"),
            ),
        ),
    ),
    Voice(
        "Lightning",
        (
            Form(
                "notebook-strategy",
                r"strategy='(?P<strategy>\w{1,40})'\)` is not compatible with an interactive",
                ("not compatible with an interactive",),
            ),
        ),
    ),
)
