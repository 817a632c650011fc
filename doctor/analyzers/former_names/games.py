"""What gym and gymnasium once gave, and how programs took it."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.model.issues import Action, Option, Recipe

_OLD_GYM = ("gym==0.25.2", "numpy<1.24")
_GYM_NEWER = Recipe(
    title="Take the gym whose reset() gives two values and step() five",
    use_if=("the program's own line unpacks two values of reset(), or five of step()",),
    steps=(Action(install=("gym==0.26.2", "numpy<2"), options=(Option.HOLD_TORCH,)),),
)
_STEP = Edit(
    "next_state, reward, done, info = env.step(action)",
    "next_state, reward, terminated, truncated, info = env.step(action)\n"
    "done = terminated or truncated",
    "reset() gives two values there: state, info = env.reset().",
)
_RESET = Edit(
    "state = env.reset()",
    "state, info = env.reset()",
    "step() gives five values there: state, reward, terminated, truncated, info.",
)
_GYM = (
    "gym 0.26 and gymnasium give two values from reset() and five from step(); older releases gave "
    "one and four. The program, the environment and gym have to be of one kind."
)


ROWS: tuple[FormerName, ...] = (
    FormerName(
        "too many values to unpack",
        r"too many values to unpack \(expected 2\)",
        "gym expects two values from reset(), and the environment gives its picture alone",
        _GYM,
        package="gym",
        pins=_OLD_GYM,
        python="3.10",
        near=r"[/\\]gym[/\\]wrappers[/\\]|obs, info = self\.env\.reset\("
        r"|self\.reset_infos\[env_idx\] = ",
    ),
    FormerName(
        "too many values to unpack",
        r"too many values to unpack \(expected 2\)",
        "The program expects two values from reset(), and this gym gives the state alone",
        _GYM,
        (Edit("state, info = env.reset()", "state = env.reset()"),),
        near=r"= ?\(?(?:self\.)?\w{0,12}env\w{0,12}\.reset\(",
        recipes=(_GYM_NEWER,),
    ),
    FormerName(
        "too many values to unpack",
        r"too many values to unpack \(expected 4\)",
        "step() gives five values in this gym, and the program expects four",
        _GYM,
        (_STEP,),
        pins=_OLD_GYM,
        python="3.10",
        near=r"\.step\(",
    ),
    FormerName(
        "not enough values to unpack",
        r"not enough values to unpack \(expected 5, got 4\)",
        "step() gives four values in this gym or environment, and five are expected",
        _GYM,
        pins=_OLD_GYM,
        python="3.10",
        near=r"\.step\(",
        recipes=(_GYM_NEWER,),
    ),
    FormerName(
        "(got tuple)",
        r"expected np\.ndarray \(got tuple\)",
        "The state of the environment is a pair in this gym, and the program takes it for an array",
        _GYM,
        (_RESET,),
        pins=_OLD_GYM,
        python="3.10",
        near=r"from_numpy\(.{0,30}(?:state|obs)|\w{0,12}env\w{0,12}\.(?:reset|step)\(|[/\\]gym",
    ),
    FormerName(
        "inhomogeneous shape",
        r"inhomogeneous shape after 1 dimensions?\. The detected shape was \(\d{1,4},\) \+ "
        r"inhomogeneous part",
        "reset() gives a pair in this gym, and the program makes an array of it",
        _GYM,
        (_RESET,),
        pins=_OLD_GYM,
        python="3.10",
        near=r"\benv\.reset\(|state\b.{0,40}(?:np\.array|torch\.)|np\.(?:array|float32)\(\[?state",
    ),
    FormerName(
        "has no attribute 'seed'",
        r"'(?P<name>\w{2,40})' object has no attribute 'seed'",
        "gym 0.26 and gymnasium have no {name}.seed()",
        "The seed is an argument of reset() since.",
        (Edit("env.seed(seed)", "env.reset(seed=seed)"),),
        pins=_OLD_GYM,
        python="3.10",
        near=r"env\w{0,8}\.seed\(",
    ),
    FormerName(
        "NamespaceNotFound",
        r"Namespace ALE not found",
        "The games of Atari are not installed for this gym",
        "They are a package of their own, ale-py, which has to be there, and known to gymnasium.",
        (
            Edit(
                "import gymnasium as gym",
                "import gymnasium as gym\nimport ale_py\ngym.register_envs(ale_py)",
            ),
        ),
        recipes=(
            Recipe(
                title="Install them",
                steps=(Action(install=("gymnasium[atari]", "ale-py")),),
                note="For gym itself, 0.26 and older: gym[atari,accept-rom-license].",
            ),
        ),
    ),
)
