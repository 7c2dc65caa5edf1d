# SPDX-License-Identifier: Apache-2.0
"""A server that is a virtual machine: Debian's kernel with the module, nginx, and eth0 plugged into the rack by a TAP.

Everything that makes it a server is in its set-up script, which the machine runs at each start: a machine that was
killed and is started again comes back as it was.
"""

import shlex
from pathlib import Path

from lab import build, nginx, topology
from lab.cluster_key import SERVER_NAME, server_keys
from lab.instance import Instance
from lab.node import SYSCTLS as NODE_SYSCTLS
from lab.router import BRIDGE, Router
from lab.server import SYSCTLS, VIPS, Server, own_addresses
from lab.variant import USUAL, Variant
from lab.vm.image import initramfs
from lab.vm.kernel import Kernel
from lab.vm.machine import Machine, Plug

PROCESS = "machine"
MEMORY = 192  # MiB
NGINX = Path("/run/nginx")
KEY_FILE = Path("/run") / SERVER_NAME
SETUP = """\
{sysctls}
ip link set eth0 mtu {mtu} up
{addresses}
insmod /modules/fairlead.ko
(umask 077 && cat >{key_file}) <<'END'
{keys}END
mkdir {directory}
cat >{directory}/nginx.conf <<'END'
{config}END
{nginx} </dev/null >{directory}/log 2>&1 &
until ss -Hltn sport = :{port} | grep -q .; do
  kill -0 $! || {{ cat {directory}/log; exit 1; }}
  sleep 0.1
done
{attach}
"""


class MachineServer(Server):
    command = "fairlead-server"
    form = ("--form", "module")

    def __init__(
        self,
        instance: Instance,
        router: Router,
        number: int,
        kernel: Kernel,
        archive: Path,
        variant: Variant = USUAL,
    ) -> None:
        super().__init__(instance, number, variant, machine=True)
        self.key = KEY_FILE if variant.tagged else None
        mac = f"52:54:00:00:00:{number:02x}"
        self.gateways = router.gateways()
        plug = Plug(router.namespace.name, self.name, mac, topology.RACK_MTU, BRIDGE)
        self.machine = Machine(self.directory, kernel, archive, plug, self._setup(), MEMORY)
        self.process = self.program(PROCESS, self.machine.command(), self.machine.environment())

    def _setup(self) -> str:
        paths = {f"/proc/sys/net/{key.replace('__', '/')}": value for key, value in (NODE_SYSCTLS | SYSCTLS).items()}
        # The kernel created eth0 before the sysctls turned duplicate address detection off.
        places = [(address, "eth0") for address in self.interface_addresses] + [(vip, "lo") for vip in VIPS]
        addresses = [f"addr add {a} dev {device}{' nodad' if ':' in a else ''}" for a, device in places]
        addresses += [f"route add {gateway}" for gateway in self.gateways]
        return SETUP.format(
            sysctls="\n".join(f"echo {value} >{path}" for path, value in paths.items()),
            mtu=topology.RACK_MTU,
            addresses="\n".join(f"ip {words}" for words in addresses),
            port=topology.VIP_PORT,
            directory=NGINX,
            keys=server_keys(build.SERVER, self.directory, own_addresses(self.address)).read_text(),
            key_file=KEY_FILE,
            config=nginx.config(NGINX, self.name),
            nginx=shlex.join(nginx.command(NGINX)),
            attach=shlex.join(self.attachment()),
        )

    def start(self) -> None:
        self.instance.start(self.process)

    def wait(self) -> None:
        self.machine.wait()

    def run(self, *argv: str) -> str:
        return self.machine.check(*argv)


def archive(kernel: Kernel) -> Path:
    """The image that such servers boot; the module is built for it if it has changed."""
    return initramfs(kernel, build.AGENT, [build.SERVER])
