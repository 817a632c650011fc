"""The CUDA toolkit that a build would take: version, compiler, and what it lacks.

Nvcc is started only where no file tells its version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.host import Host, Termination
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.probes.toolkit import files, owners, roots
from doctor.observe.probes.toolkit import headers as cuda_headers
from doctor.observe.probes.toolkit.files import MissingParts
from doctor.observe.probes.toolkit.roots import Toolkit
from doctor.observe.scene import ProbeInput
from doctor.redact import without_secrets

BOUND = 8.0

_NONE = "no CUDA toolkit was found"
_LIST = """
    home home_origin selected packaging version headers_version nvcc nvcc_version missing
    missing_owners
    missing_requirements missing_system_packages unlinkable link_source lib_dir gcc_max clang_max
    toolkits
"""
_FACTS = tuple(_LIST.split())


def probe(scene: ProbeInput, *, patience: float = 5.0) -> FactStream:
    """Yield `cuda.*` for the toolkit that torch finds, else for the first one on disk.

    nvcc may take `patience` seconds.
    """
    host = scene.host
    broken = roots.broken_home(host)
    yield (
        "cuda.home_broken",
        present(broken[1], broken[0]) if broken else absent("CUDA_HOME, CUDA_PATH"),
    )
    kits = roots.toolkits(scene)
    yield "cuda.cudnn_header", _cudnn(scene, kits)
    if not kits:
        for name in _FACTS:
            yield f"cuda.{name}", absent(_NONE)
        return
    torch = _torch(scene)
    held = {kit.root: files.holding(host, kit.root, torch) for kit in kits}
    yield "cuda.toolkits", present([_outline(scene, kit, held[kit.root]) for kit in kits], "files")
    yield from _chosen(kits[0], broken=broken is not None)
    yield from _lacks(scene, kits[0], held[kits[0].root])
    yield from _compilers(host, kits[0])
    yield from _versions(scene, kits[0], patience)


def _torch(scene: ProbeInput) -> Path | None:
    sites = scene.interpreter.site_packages if scene.interpreter else ()
    folders = (Path(site, "torch") for site in sites)
    return next((folder for folder in folders if scene.host.exists(folder / "include/ATen")), None)


def _outline(scene: ProbeInput, kit: Toolkit, held: MissingParts) -> Mapping[str, Any]:
    version = roots.filed_version(scene, kit)
    return {
        "root": kit.root,
        "version": version[0] if version else None,
        "origin": kit.origin,
        "nvcc": kit.nvcc,
        "missing": sorted(held.missing),
        "unlinkable": list(held.unlinkable),
    }


def _or_absent(value: Any, source: str) -> Fact:
    return present(value, source) if value else absent(source)


def _chosen(kit: Toolkit, *, broken: bool) -> FactStream:
    yield "cuda.home", present(kit.root, kit.origin)
    yield "cuda.home_origin", present(kit.origin, "the order of torch's search")
    # torch stops at a broken CUDA_HOME: what comes after it is not what the environment selects.
    yield "cuda.selected", present(kit.selected and not broken, kit.origin)
    yield "cuda.packaging", present(kit.packaging, kit.root)
    yield "cuda.nvcc", _or_absent(kit.nvcc, f"{kit.root}/bin/nvcc")


def _lacks(scene: ProbeInput, kit: Toolkit, held: MissingParts) -> FactStream:
    source, components = kit.root, list(dict.fromkeys(held.missing.values()))
    version = roots.filed_version(scene, kit)
    yield "cuda.missing", _or_absent(sorted(held.missing), source)
    yield "cuda.missing_owners", _or_absent(owners.from_pip(components), source)
    pinned = (
        owners.requirements(scene, components, version[0] if version else None)
        if kit.packaging == "pip"
        else []
    )
    yield (
        "cuda.missing_requirements",
        _or_absent(pinned, "dist-info" if kit.packaging == "pip" else "not made by pip"),
    )
    system = owners.of_system(scene.host, kit, components, version[0] if version else None)
    yield "cuda.missing_system_packages", _or_absent(system, source)
    yield "cuda.unlinkable", _or_absent(list(held.unlinkable), held.lib_dir or source)
    yield "cuda.link_source", _or_absent(list(held.link_source), held.lib_dir or source)
    yield "cuda.lib_dir", _or_absent(held.lib_dir, source)


def _compilers(host: Host, kit: Toolkit) -> FactStream:
    path, newest = files.newest_compilers(host, kit.root)
    for kind in ("gcc", "clang"):
        name = f"cuda.{kind}_max"
        if path is None:
            yield name, absent("crt/host_config.h")
        else:
            yield (
                name,
                present(newest[kind], path)
                if kind in newest
                else unknown("it names no limit in a known form", path),
            )


def _versions(scene: ProbeInput, kit: Toolkit, patience: float) -> FactStream:
    filed, headers = (
        roots.filed_version(scene, kit),
        cuda_headers.headers_version(scene.host, kit.root),
    )
    yield "cuda.headers_version", _or_absent(headers, f"{kit.root}/include/cuda.h")
    told = roots.filed_nvcc_version(scene, kit)
    compiler = present(*told) if told else _ask_nvcc(scene.host, kit.nvcc, patience)
    yield "cuda.nvcc_version", compiler
    if filed and (told or compiler.value is None):
        yield "cuda.version", present(*filed)
    elif compiler.value is not None:
        yield "cuda.version", present(roots.short(compiler.value), compiler.source)
    else:
        yield (
            "cuda.version",
            unknown(f"no file tells it; nvcc: {compiler.why or 'not there'}", kit.root),
        )


def _ask_nvcc(host: Host, nvcc: str | None, patience: float) -> Fact:
    if nvcc is None:
        return absent("bin/nvcc")
    ran = host.run([nvcc, "--version"], timeout=patience, limit=1 << 14, cwd=Path("/"))
    if found := re.search(r"\bV(\d+\.\d+\.\d+)", ran.output):
        return present(found[1], f"{nvcc} --version")
    if ran.ended is Termination.TIMEOUT:
        return unknown(f"it did not answer within {patience:g} s", nvcc)
    said = without_secrets(ran.errors.strip() or ran.output.strip() or ran.why)[:200].partition(
        "\n"
    )[0]
    return unknown(f"exit code {ran.code}, and no version in: {said or '(nothing)'}", nvcc)


def _cudnn(scene: ProbeInput, kits: list[Toolkit]) -> Fact:
    host = scene.host
    folders = [folder for kit in kits[:1] for folder in cuda_headers.include_dirs(host, kit.root)]
    folders += [
        "/usr/include/x86_64-linux-gnu",
        "/usr/include/aarch64-linux-gnu",
        "/usr/include",
        "/usr/local/include",
    ]
    folders += [
        f"{home}/include" for name in ("CUDNN_HOME", "CUDNN_PATH") if (home := host.env.get(name))
    ]
    found = next((folder for folder in folders if host.exists(f"{folder}/cudnn.h")), None)
    return present(
        found is not None, f"{found}/cudnn.h" if found else "include folders of toolkit and system"
    )
