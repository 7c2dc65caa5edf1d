# SPDX-License-Identifier: Apache-2.0
"""
bmv2's simple_switch in a test: packets go in and out by its nanomsg socket (--packet-in), so that no network is needed;
tables and registers are written by its Thrift service, whose Python modules are installed with it.
"""

import ctypes
import ctypes.util
import importlib
import logging
import socket
import struct
import subprocess
import time
from pathlib import Path

# How long it may take to answer; in seconds.
START_S, PACKET_S = 120, 60
# nanomsg: the address family, the protocol and options of its C interface.
AF_SP, NN_PAIR, NN_SOL_SOCKET, NN_RCVTIMEO = 1, 16, 0, 5
# Messages of simple_switch's packet socket: type, port, length, bytes.
HEAD = struct.Struct("=iii")
PACKET_IN, PACKET_OUT = 3, 4
ROOM = 4096

PREFIX = "mux_main.stages."
# Bytes of keys and action arguments, in their order.
KEYS = {
    "ports4": (8, 2, 1),
    "ports6": (8, 8, 2, 1),
    "vips4": (8,),
    "vips6": (8, 8),
    "sources4": (8,),
    "sources6": (8, 8),
}
ARGUMENTS = {"serve4": (2, 2, 1, 2, 4), "serve6": (2, 2, 1, 2, 4)}


class SwitchError(Exception):
    pass


class Packets:
    """The switch's packet socket."""

    def __init__(self, address: str) -> None:
        name = ctypes.util.find_library("nanomsg")
        if not name:
            raise SwitchError("libnanomsg is missing, which simple_switch --packet-in needs too")
        self.nanomsg = ctypes.CDLL(name, use_errno=True)
        self.socket = self.nanomsg.nn_socket(AF_SP, NN_PAIR)
        timeout = ctypes.c_int(PACKET_S * 1000)
        self.nanomsg.nn_setsockopt(
            self.socket, NN_SOL_SOCKET, NN_RCVTIMEO, ctypes.byref(timeout), ctypes.c_size_t(ctypes.sizeof(timeout))
        )
        if self.nanomsg.nn_connect(self.socket, address.encode()) < 0:
            raise SwitchError(f"cannot connect to {address}: errno {ctypes.get_errno()}")
        self.buffer = ctypes.create_string_buffer(ROOM)

    def send(self, port: int, frame: bytes) -> None:
        message = HEAD.pack(PACKET_IN, port, len(frame)) + frame
        if self.nanomsg.nn_send(self.socket, message, ctypes.c_size_t(len(message)), 0) != len(message):
            raise SwitchError(f"cannot send a packet to the switch: errno {ctypes.get_errno()}")

    def receive(self) -> tuple[int, bytes]:
        """Port and frame of the next packet that leaves."""
        count = self.nanomsg.nn_recv(self.socket, self.buffer, ctypes.c_size_t(ROOM), 0)
        if count < HEAD.size:
            raise SwitchError(f"no packet has left the switch for {PACKET_S} s")
        kind, port, length = HEAD.unpack_from(self.buffer)
        if kind != PACKET_OUT or HEAD.size + length != count:
            raise SwitchError(f"message of type {kind}, {length} bytes in {count - HEAD.size}")
        return port, self.buffer[HEAD.size : count]

    def close(self) -> None:
        self.nanomsg.nn_close(self.socket)


class Switch:
    """A simple_switch with a compiled program; a context manager that ends it."""

    def __init__(self, program: Path, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        packets = f"ipc://{folder}/packets"
        command = ["simple_switch", "--packet-in", packets, "--thrift-port", str(port)]
        command += ["--notifications-addr", f"ipc://{folder}/notifications", str(program)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            self.client = self.connect(port)
            self.packets = Packets(packets)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.handles: dict[tuple[str, str], int] = {}

    def connect(self, port: int):
        transport = importlib.import_module("thrift.transport.TTransport")
        protocol = importlib.import_module("thrift.protocol.TBinaryProtocol")
        multiplexed = importlib.import_module("thrift.protocol.TMultiplexedProtocol")
        sockets = importlib.import_module("thrift.transport.TSocket")
        standard = importlib.import_module("bm_runtime.standard.Standard")
        self.types = importlib.import_module("bm_runtime.standard.ttypes")
        logging.getLogger(sockets.__name__).setLevel(logging.CRITICAL)  # it says each time that nothing listens yet
        deadline = time.monotonic() + START_S
        while True:
            self.transport = transport.TBufferedTransport(sockets.TSocket("127.0.0.1", port))
            try:
                self.transport.open()
            except transport.TTransportException:
                if self.process.poll() is not None:
                    raise SwitchError(f"simple_switch ended with {self.process.returncode}") from None
                if time.monotonic() > deadline:
                    raise SwitchError(f"simple_switch has not listened for {START_S} s") from None
                time.sleep(0.05)  # of a wait with a deadline
                continue
            binary = protocol.TBinaryProtocol(self.transport)
            return standard.Client(multiplexed.TMultiplexedProtocol(binary, "standard"))

    def __enter__(self) -> "Switch":
        return self

    def __exit__(self, *_: object) -> None:
        self.packets.close()
        self.transport.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def write(self, name: str, first: int, end: int, value: int) -> None:
        """Registers from first to before end."""
        signed = value - (1 << 64) if value >> 63 else value
        self.client.bm_register_write_range(0, name, first, end, signed)

    def add(self, table: str, text: str) -> None:
        """An entry as rte_swx_ctl reads it: `match KEY... action NAME [ARGUMENT VALUE]...`."""
        words = text.split()
        at = words.index("action")
        keys = [int(word, 0) for word in words[1:at]]
        action, values = words[at + 1], [int(word, 0) for word in words[at + 3 :: 2]]
        match = [
            self.types.BmMatchParam(
                type=self.types.BmMatchParamType.EXACT, exact=self.types.BmMatchParamExact(key.to_bytes(size))
            )
            for key, size in zip(keys, KEYS[table], strict=True)
        ]
        data = [value.to_bytes(size) for value, size in zip(values, ARGUMENTS.get(action, ()), strict=True)]
        self.handles[table, text] = self.client.bm_mt_add_entry(
            0, PREFIX + table, match, PREFIX + action, data, self.types.BmAddEntryOptions(priority=0)
        )

    def delete(self, table: str, text: str) -> None:
        self.client.bm_mt_delete_entry(0, PREFIX + table, self.handles.pop((table, text)))

    def clear(self, counter: str) -> None:
        self.client.bm_counter_reset_all(0, counter)

    def count(self, counter: str, index: int) -> tuple[int, int]:
        """Packets and bytes."""
        value = self.client.bm_counter_read(0, counter, index)
        return value.packets, value.bytes
