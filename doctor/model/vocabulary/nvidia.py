"""The names of facts about NVIDIA's driver and GPUs; they are part of the vocabulary."""

from __future__ import annotations

NVIDIA: dict[str, str] = {
    "nvidia.driver_version": "version of the loaded kernel driver",
    "nvidia.driver_branch": "first number of the driver version",
    "nvidia.cuda_version": "newest CUDA that the driver speaks, major.minor",
    "nvidia.gpus": (
        "every GPU in NVML's order: {index, name, capability, memory_bytes, mig}, and "
        "where known uuid, pci_bus_id, "
        "error (why it cannot be asked), memory_used_bytes, processes, compute_mode, "
        "mig_devices, persistence, health"
    ),
    "nvidia.gpu_errors": (
        "GPUs that do not answer, with NVML's words: GPU 3 (0000:41:00.0): GPU is lost"
    ),
    "nvidia.visible": "those of nvidia.gpus that CUDA_VISIBLE_DEVICES leaves",
    "nvidia.choices": (
        "what CUDA_VISIBLE_DEVICES may name here: GPUs, or MIG devices where it names one"
    ),
    "nvidia.choice": (
        "the first of them, as the variable takes it; absent where several GPUs are divided"
    ),
    "nvidia.visible_kept": (
        "CUDA_VISIBLE_DEVICES without the entries that fit nothing, where others fit"
    ),
    "nvidia.visible_replaced": (
        "CUDA_VISIBLE_DEVICES with the GPUs that it does not name in the place of the entries "
        "that fit none, where there are as many of each"
    ),
    "nvidia.visible_stale": "the entries of CUDA_VISIBLE_DEVICES that fit nothing, in words",
    "nvidia.visible_unnamed": "the UUIDs of the GPUs that take their place, in words",
    "nvidia.visible_plain": (
        "CUDA_VISIBLE_DEVICES with commas alone, where only other marks in it are wrong"
    ),
    "nvidia.visible_error": "what is wrong with CUDA_VISIBLE_DEVICES",
    "nvidia.hidden_on_purpose": (
        "true where CUDA_VISIBLE_DEVICES hides every GPU by a value that means it"
    ),
    "nvidia.gpu_names": "names of the visible GPUs",
    "nvidia.gpu_count": "how many GPUs are visible",
    "nvidia.capabilities": "compute capability of each visible GPU, as 9.0",
    "nvidia.capability_min": "lowest compute capability",
    "nvidia.capability_max": "highest compute capability",
    "nvidia.gpu_present": (
        "true where /proc, /sys or WSL show an NVIDIA GPU, with or without a driver"
    ),
    "nvidia.bound_to": "kernel drivers that hold NVIDIA's GPUs on PCI: nvidia, nouveau, vfio-pci",
    "nvidia.cards": "NVIDIA's GPUs on PCI, driven or not: {pci_bus_id, device, driver}",
    "nvidia.module_kind": "open or closed: which of NVIDIA's kernel modules is loaded",
    "nvidia.probe_failed": (
        "the kernel's words where NVIDIA's module was loaded, could start no card, and left again"
    ),
    "nvidia.module_left": "the same, where the log may be read and a card has no driver",
    "nvidia.build_failed": (
        "version of the driver that DKMS could not compile for the running kernel, by its make.log"
    ),
    "nvidia.build_error": "the compiler's first error there: nv-nano-timer.c: implicit …",
    "nvidia.build_log": "path of that log",
    "nvidia.bar_size": "how large the window to the memory of such a GPU is: 64 GiB",
    "nvidia.driver_capabilities_wanted": (
        "the value of NVIDIA_DRIVER_CAPABILITIES with compute, where it names others alone"
    ),
    "nvidia.held_for_guests": "GPUs that vfio-pci holds for virtual machines",
    "nvidia.alike_for_guests": "those of them of which another has the same PCI device number",
    "nvidia.ids_of_vfio": (
        "where vfio-pci is told to take GPUs by their model's numbers: /etc/modprobe.d/vfio.conf"
    ),
    "nvidia.used_by_guests": (
        "PCI addresses that the virtual machines of libvirt or Proxmox name; absent where none "
        "does, or nobody may read them"
    ),
    "nvidia.free_for_host": (
        "GPUs that vfio-pci holds and no such virtual machine names, while one names another"
    ),
    "nvidia.free_for_host.first": "PCI address of the first of them",
    "nvidia.job_partition": "the partition of such a job of Slurm, which has the GPUs",
    "nvidia.module_file": "path of the module for the running kernel, where a GPU waits for it",
    "nvidia.kernel_replaced_by": (
        "a kernel whose modules are here, where those of the running one are gone and a GPU waits"
    ),
    "nvidia.module_of_kernels": "other kernels that have a module, where a GPU waits for one",
    "nvidia.cards_left_alone": (
        "the driver's words in the kernel's log for GPUs that it does not serve, while it is not "
        "loaded"
    ),
    "nvidia.module_refused": (
        "the kernel's words for a module whose signature it did not accept, where a GPU waits for "
        "its module"
    ),
    "nvidia.uninstaller": "path of the tool that removes a driver of NVIDIA's installer (.run)",
    "nvidia.gpus_excluded": "GPUs that the driver leaves out by its option NVreg_ExcludedGpus",
    "nvidia.blacklisted_in": (
        "files that keep the module from being loaded, where a GPU waits for it"
    ),
    "nvidia.switched_off_by": (
        "files that switch NVIDIA's GPU off or take it from PCI, where PCI shows none, no "
        "driver is loaded, and nvidia-smi or prime-select is installed"
    ),
    "nvidia.switcher": (
        "the tool on PATH that writes such files: prime-select, envycontrol, supergfxctl, "
        "system76-power or optimus-manager"
    ),
    "nvidia.prime_select": "path of prime-select, which chooses the GPU of a laptop",
    "nvidia.nodes_barred": (
        "device nodes whose mode is open to this user and that it may not open: a control "
        "group or a policy refuses"
    ),
    "nvidia.nodes_stale": (
        "in words, where /dev/nvidia-uvm has another number than the kernel gives nvidia-uvm now"
    ),
    "nvidia.libcuda_before_wsl": (
        "path of a libcuda.so.1 that the loader takes before the one of Windows"
    ),
    "nvidia.xid": (
        "the driver's error reports in the kernel's log, by GPU and number: {code, pci_bus_id, "
        "count, last_seconds (since the start of the machine), text, process}"
    ),
    "nvidia.start_failed": (
        "GPUs that the driver could not start, from the kernel's log: 0000:10:00.0: RmInitAdapter "
        "failed! (0x61:0x56:1852)"
    ),
    "nvidia.firmware_missing": (
        "files of firmware that the driver did not find, from the kernel's log: "
        "nvidia/580.95.05/gsp_ga10x.bin"
    ),
    "nvidia.bar_missing": (
        "GPUs whose memory window got no address, from the kernel's log: 0000:02:00.0: BAR1 is 0M "
        "@ 0x0"
    ),
    "nvidia.open_required": (
        "GPUs for which the closed module asks for the open one, from the kernel's log: "
        "0000:c1:00.0"
    ),
    "nvidia.unpowered": (
        "GPUs whose power cables are missing, from the kernel's log: 0000:10:00.0: GPU does not "
        "have the necessary power cables connected"
    ),
    "nvidia.asleep": (
        "GPUs that the kernel could not bring back from their deepest power saving, from its log: "
        "0000:01:00.0: Unable to change power state from D3cold to D0"
    ),
    "nvidia.peermem_refused": "the kernel's words why nvidia-peermem was not loaded",
    "nvidia.sxid_fatal": (
        "fatal errors of NVSwitches in the kernel's log: NVSwitch 2 (0000:85:00.0): SXid 20034, "
        "Fatal, Link 30 LTSSM Fault Up"
    ),
    "nvidia.ready_state": (
        "not-ready or ready: whether a GPU in confidential mode takes work; absent where "
        "nvidia-smi does not tell"
    ),
    "nvidia.xid_restart": "visible GPUs whose last Xids call for a restart of the machine",
    "nvidia.xid_reset": "visible GPUs whose last Xids call for a reset of the GPU",
    "nvidia.xid_gsp": "Xids of visible GPUs whose own processor (GSP) failed",
    "nvidia.xid_watch": "visible GPUs with Xids that call for attention",
    "nvidia.vgpu_unlicensed": "visible virtual GPUs without a licence",
    "nvidia.vgpu_token": "files with the token of a licence server, where one has no licence",
    "nvidia.vgpu_refusal": "the last reason of nvidia-gridd for it, from the system's log",
    "nvidia.device_nodes": "true where /dev/nvidia* can be opened",
    "nvidia.nodes_refused": (
        "device nodes of NVIDIA's that are there and that this user may not open"
    ),
    "nvidia.gpus_refused": (
        "device nodes of the GPUs, where their mode lets this user open none of them"
    ),
    "nvidia.gpus_barred": (
        "device nodes of the GPUs, where a control group or a policy refuses each of them"
    ),
    "nvidia.nodes_wrong": (
        "in words: device nodes of the driver with another number than the kernel gives it"
    ),
    "nvidia.nodes_wrong.files": "paths of those device nodes",
    "nvidia.nodes_missing": (
        "device nodes that are not there: /dev/nvidiactl, or those of every GPU that the driver "
        "holds"
    ),
    "nvidia.device_file_mode": (
        "mode that the driver wants its device nodes to have, in octal digits: 0666"
    ),
    "nvidia.libraries_empty": (
        "paths of libcuda.so.1 and libnvidia-ml.so.1 where the loader takes a file without content"
    ),
    "nvidia.nvml_missing": (
        "in words, where a driver is loaded and its libnvidia-ml.so.1 is not there"
    ),
    "nvidia.ptx_compiler_missing": (
        "path of the driver's libnvidia-ptxjitcompiler, where it is missing beside libcuda"
    ),
    "nvidia.uvm_node": "true where /dev/nvidia-uvm is there",
    "nvidia.modprobe": "path of an nvidia-modprobe that may load modules and make device nodes",
    "nvidia.uvm": "true where the module nvidia_uvm is loaded",
    "nvidia.nvswitch": "true where the machine has NVSwitches, which need the fabric manager",
    "nvidia.nvml": "text of the failure where NVML as a whole could not be asked",
    "nvidia.smi": "path of nvidia-smi",
    "nvidia.libcuda": "path of the libcuda.so.1 that the loader would take",
    "nvidia.forward_compatibility": (
        "true where that libcuda is NVIDIA's forward compatibility package, which stands in "
        "for the driver's"
    ),
    "nvidia.compat_outdated": (
        "folder of a forward compatibility package that is older than the driver"
    ),
    "nvidia.runs_cuda_of_torch": (
        "whether the driver itself runs the CUDA that torch was built with"
    ),
    "nvidia.needs_open_module": (
        "GPUs on PCI that the driver does not start, which need the open module: the closed "
        "one is loaded"
    ),
    "nvidia.needs_closed_module": (
        "GPUs on PCI that the driver does not take, which need the closed module: the open "
        "one is loaded"
    ),
    "nvidia.needs_legacy_driver": (
        "GPUs on PCI that the driver, loaded or only installed, does not take, because it is of "
        "a release that dropped their generation"
    ),
    "nvidia.needs_older_driver": (
        "GPUs on PCI that the driver does not take, because they are older than Maxwell"
    ),
    "nvidia.needs_newer_driver": (
        "GPUs on PCI that the loaded driver does not take, because their generation came after it"
    ),
    "nvidia.cards_untaken": "GPUs on PCI that the loaded driver does not take, for another reason",
    "nvidia.before_turing": (
        "GPUs on PCI from Maxwell to Volta, which the closed module serves up to branch 580 and "
        "CUDA up to 12"
    ),
    "nvidia.cards_silent": "GPUs on PCI that the driver holds, and NVML does not list",
    "nvidia.cards_failed": "those of them that the driver could not start, by the kernel's log",
    "nvidia.cards_unpowered": "those of them whose power cables are missing, by the kernel's log",
    "nvidia.cards_asleep": (
        "those of them that did not come back from their power saving (D3cold), by the kernel's log"
    ),
    "nvidia.cards_fallen": "those of them that the driver said to have fallen off the bus (Xid 79)",
    "nvidia.job_without_gpu": (
        "by what one sees that Slurm gave this job none of the node's GPUs: "
        "CUDA_VISIBLE_DEVICES=NoDevFiles"
    ),
    "nvidia.undriven": (
        "GPUs on PCI while no driver is loaded, without those that the installed one dropped"
    ),
    "nvidia.installed_version": ("version of the driver: the loaded one, else that of its library"),
    "nvidia.jetson_nodes_refused": (
        "device files of a Jetson's GPU (/dev/nvmap, /dev/nvhost-*) that this user may not open"
    ),
    "nvidia.l4t_driver": "version of a Jetson's driver that is counted in releases of L4T: 35.4.1",
    "nvidia.libcuda_differs": (
        "in words, where libcuda and the kernel's module are of different drivers without "
        "forward compatibility"
    ),
    "nvidia.wanted_by": (
        "what here is built for NVIDIA's GPUs: torch, jax; absent where they are hidden on purpose"
    ),
    "nvidia.computing": "processes that compute on the GPUs: process 4711 on GPU 0",
    "nvidia.computing.pids": "their numbers, as ps -p takes them: 4711,4712",
    "nvidia.mig_without_instances": "visible GPUs with MIG on and without an instance",
    "nvidia.compute_prohibited": "visible GPUs that no program may compute on",
    "nvidia.compute_exclusive": (
        "visible GPUs that one process may use at a time, and that MPS does not share out"
    ),
    "nvidia.mps": "folder with the control pipe of CUDA's Multi-Process Service (MPS)",
    "nvidia.mps_refused": "the same, where this user may not write to that pipe",
    "nvidia.free": (
        "UUIDs of the visible GPUs that take programs, where others are full, busy, prohibited or "
        "lost: CUDA_VISIBLE_DEVICES takes them"
    ),
    "nvidia.taken": (
        "busy or full, where that holds for every visible GPU: a process has it for itself, "
        "or less than 1 GiB is free"
    ),
    "nvidia.none_usable": (
        "true where every visible GPU is one of these: without an instance, or prohibited"
    ),
    "nvidia.remap_failed": "visible GPUs with a row of memory that could not be remapped",
    "nvidia.remap_pending": "visible GPUs that replace a bad row of memory at the next reset",
    "nvidia.retired_pending": "visible GPUs that set a bad page of memory aside at the next reset",
    "nvidia.ecc_uncorrected": (
        "visible GPUs with uncorrected memory errors since the driver was loaded"
    ),
    "nvidia.throttled": "visible GPUs that heat or the power supply slows down",
    "nvidia.throttled_by": "heat, power brake, or heat and power brake: by what NVML says of them",
    "nvidia.all_braked": "how many GPUs there are, where the power brake is on at all of them",
    "nvidia.fabric_incomplete": "visible GPUs that have not joined the NVLink fabric",
    "nvidia.pcie_narrow": (
        "visible GPUs with fewer PCIe lanes than they could have, though they work, or a like "
        "GPU that rests has all"
    ),
    "nvidia.pcie_starved": "those of them with a quarter of their PCIe lanes or fewer",
    "nvidia.power_capped": "visible GPUs whose power limit is far below the maker's",
    "nvidia.fabric_completed": "true where every visible GPU has joined the NVLink fabric",
    "nvidia.fabric_manager_differs": (
        "in words, where the fabric manager is of another version than the driver"
    ),
    "nvidia.library_path_rest": (
        "LD_LIBRARY_PATH without the folder of nvidia.libcuda, where it names others as well"
    ),
    "nvidia.libcuda_older": "where they differ: true where libcuda is the older of the two",
    "nvidia.libcuda_alone": (
        "true where they differ, and NVML's library is of the kernel module's version: a restart "
        "changes nothing"
    ),
    "nvidia.nvml_version": "driver version in the file name of libnvidia-ml.so.1",
    "nvidia.soldered": "GPUs without a slot: on the board of a laptop, a Jetson, a GB10, on SXM",
    "nvidia.libcuda_mounted": (
        "whether that libcuda is a mount of its own, as container runtimes hand in the host's"
    ),
    "nvidia.libcuda_of_image": (
        "true where a container's libcuda is of its image, and of another driver than the host's"
    ),
    "nvidia.libcuda_version": "driver version in the file name of that libcuda",
    "nvidia.libcuda_link": "true where libcuda.so, without a version, can be linked against",
    "nvidia.fabric_wanted": (
        "whether the GPUs need a fabric manager: false where no NVSwitch shows and no GPU has a "
        "fabric"
    ),
    "nvidia.links_down": (
        "GPUs that switches join with others, and whose NVLinks are inactive while those of "
        "another GPU of the model are not"
    ),
    "nvidia.links_up": "numbers of the visible GPUs whose NVLinks are all active: 0,1,3",
    "nvidia.fabric_of_host": (
        "true in a virtual machine without NVSwitches whose GPUs wait for an NVLink fabric"
    ),
    "nvidia.nvlsm": "the program of nvlsm, the manager of NVLink 5, where it is installed",
    "nvidia.fabric_manager": "version of nvidia-fabricmanager where it is installed",
}
_CONCERN = {
    "mig_without_instances": "have MIG on and no instance",
    "compute_prohibited": "no program may compute on",
    "compute_exclusive": "one process may use at a time",
    "remap_failed": "have a row of memory that could not be remapped",
    "remap_pending": "replace a bad row of memory at the next reset",
    "retired_pending": "set a bad page of memory aside at the next reset",
    "ecc_uncorrected": "have uncorrected memory errors",
    "throttled": "heat or the power supply slows down",
    "fabric_incomplete": "have not joined the NVLink fabric",
    "links_down": "have inactive NVLinks",
    "pcie_narrow": "have fewer PCIe lanes than they could",
    "pcie_starved": "have a quarter of their PCIe lanes or fewer",
    "power_capped": "have a low power limit",
    "gpu_errors": "do not answer",
    "xid_restart": "reported errors that call for a restart",
    "xid_reset": "reported errors that call for a reset",
    "xid_watch": "reported errors that call for attention",
}
for _name, _words in _CONCERN.items():
    NVIDIA[f"nvidia.{_name}.which"] = (
        f"the visible GPUs that {_words}, in a few words: GPU 2 (0000:81:00.0)"
    )
    NVIDIA[f"nvidia.{_name}.index"] = (
        f"the indices of the visible GPUs that {_words}, as nvidia-smi -i takes them: 2,5"
    )
NVIDIA["nvidia.gpu_errors.told"] = (
    "the visible GPUs that do not answer, with NVML's words: GPU 2 (0000:81:00.0) is lost"
)
