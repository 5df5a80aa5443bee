"""The guest's files: a Debian 12 with its kernel, and Ringwake installed as on a device."""

import subprocess
from pathlib import Path

from support import programs
from support.machine import Root
from support.nat import LAN
from support.netns import check

HERE = Path(__file__).parent
# What ringwaked and ringwake link, and what a device has: logind, and polkit, which it asks.
PACKAGES = [
    "polkitd", "libpam-systemd", "iproute2", "libnghttp2-14", "libsqlite3-0", "libnl-3-200", "libssl3", "libcurl4",
    "libstdc++6", "libsystemd0",
]  # fmt: skip
KERNEL = "linux-image-cloud-amd64"
MODULES = ["virtio_pci", "virtio_blk", "virtio_net"]
GUEST = "192.168.77.7"
APP = "com.example.phone"
# A network card knows the link by its addresses and ports.
LOCAL_PORT = 40883
RECORDS = "/var/lib/ringwake/records"
DISK_MEGABYTES = 1024

CONFIGURATION = f"""
role = "device"
[link]
environments = ["development"]
local_port = {LOCAL_PORT}
[calls]
report = "20s"
ring = "60s"
[strikes]
limit = 0
[log]
level = "debug"
"""

NETWORK_UNIT = f"""
[Unit]
DefaultDependencies=no
Before=network.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'ip link set eth0 up && ip address add {GUEST}/24 dev eth0 && ip route add default via {LAN}'
"""

AGENT_UNIT = """
[Service]
ExecStart=/usr/libexec/laboratory-agent
Restart=always
Environment=HOME=/root LC_ALL=C.UTF-8
"""

# The unit's sandbox with the one right that alarm timers need, as Documentation/gateway.md has it.
WAKE_ALARM = """
[Service]
ProtectClock=no
AmbientCapabilities=CAP_WAKE_ALARM
CapabilityBoundingSet=CAP_WAKE_ALARM
"""


def make(folder: Path, caller: Path) -> None:
    """Writes `disk`, `kernel` and `initrd`. Takes about two minutes; nothing is installed on this machine.

    - caller: the handler of Tests/integration/native/caller.c.
    """
    folder.mkdir(exist_ok=True)
    root = Root.debian(folder / "root", PACKAGES)
    install(root, caller)
    kernel = unpack_kernel(folder)
    [modules] = (kernel / "lib" / "modules").iterdir()
    make_initrd(folder, modules)
    [image] = (kernel / "boot").glob("vmlinuz-*")
    (folder / "kernel").write_bytes(image.read_bytes())
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK_MEGABYTES << 20)
    check("mke2fs", "-q", "-t", "ext4", "-d", root.path, disk, timeout=300)


def install(root: Root, caller: Path) -> None:
    deploy = programs.ROOT / "deploy"
    for program in (programs.RINGWAKED, programs.RINGWAKE):
        root.write(f"/usr/bin/{program.name}", program.read_bytes(), 0o755)
        check("strip", root.file(f"/usr/bin/{program.name}"))
    for kind in ("sysusers.d", "tmpfiles.d"):
        root.write(f"/usr/lib/{kind}/ringwake.conf", (deploy / kind / "ringwake.conf").read_bytes())
    for unit in ("ringwaked.service", "ringwaked.socket"):
        root.write(f"/usr/lib/systemd/system/{unit}", (deploy / "systemd" / "system" / unit).read_bytes())
    root.write("/etc/polkit-1/rules.d/50-ringwake.rules", (deploy / "polkit" / "50-ringwake.rules").read_bytes())
    root.write("/etc/systemd/system/ringwaked.service.d/alarm.conf", WAKE_ALARM)
    root.write("/etc/systemd/system/laboratory-network.service", NETWORK_UNIT)
    root.write("/etc/systemd/system/laboratory-agent.service", AGENT_UNIT)
    root.write("/usr/libexec/laboratory-agent", (HERE / "agent").read_bytes(), 0o755)
    root.write("/usr/libexec/caller", caller.read_bytes(), 0o755)
    # It lets each call ring, for a moment.
    handler = f'[wake]\nexec = ["/usr/libexec/caller", "{RECORDS}", "300", "30"]\ninstances = "call"\nway = "exec"\n'
    root.write("/etc/ringwake/ringwaked.toml", CONFIGURATION)
    root.write(f"/etc/ringwake/apps.d/{APP}.toml", handler)
    root.write("/etc/fstab", "/dev/vda / ext4 defaults 0 0\n")
    check("chroot", root.path, "systemd-sysusers")
    check("chroot", root.path, "chown", "-R", "root:ringwake", "/etc/ringwake")
    wants = root.file("/etc/systemd/system/multi-user.target.wants")
    wants.mkdir(parents=True, exist_ok=True)
    for unit in ("laboratory-network", "laboratory-agent"):
        (wants / f"{unit}.service").symlink_to(f"/etc/systemd/system/{unit}.service")
    (wants / "ringwaked.service").symlink_to("/usr/lib/systemd/system/ringwaked.service")


def unpack_kernel(folder: Path) -> Path:
    """The files of Debian's kernel for virtual machines."""
    depends = check("apt-cache", "depends", "--important", KERNEL)
    [package] = {word for word in depends.split() if word.startswith("linux-image-") and word != KERNEL}
    check("apt-get", "-q", "download", package, cwd=folder, timeout=300)
    [archive] = folder.glob(f"{package}_*.deb")
    check("dpkg-deb", "--extract", archive, folder / "kernel-files")
    return folder / "kernel-files"


def make_initrd(folder: Path, modules: Path) -> None:
    tree = folder / "initrd-files"
    (tree / "bin").mkdir(parents=True)
    busybox = tree / "bin" / "busybox"
    busybox.write_bytes(Path("/bin/busybox").read_bytes())
    busybox.chmod(0o755)
    names = needed(modules, MODULES)
    for name in names:
        (tree / f"{name}.ko").write_bytes(file_of(modules, name).read_bytes())
    init = tree / "init"
    init.write_text((HERE / "init").read_text().replace("MODULES", " ".join(names)))
    init.chmod(0o755)
    with (folder / "initrd").open("wb") as output:
        names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
        subprocess.run(
            ["busybox", "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(), stdout=output,
            stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip


def file_of(modules: Path, name: str) -> Path:
    [found] = modules.rglob(f"{name}.ko")
    return found


def needed(modules: Path, wanted: list[str]) -> list[str]:
    """Modules with those that they need, in the order to load them."""
    order: list[str] = []
    for name in wanted:
        # As modinfo(8) shows it.
        depends = file_of(modules, name).read_bytes().partition(b"\0depends=")[2].partition(b"\0")[0].decode()
        order += [*needed(modules, [other for other in depends.split(",") if other]), name]
    return list(dict.fromkeys(order))
