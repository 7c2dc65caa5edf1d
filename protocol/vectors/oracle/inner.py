# SPDX-License-Identifier: Apache-2.0
"""What tags cover of inner packets."""

TCP, UDP = 6, 17


def inner_part(packet: bytes, protocol: int) -> bytes:
    """Source 16 | destination 16 | ports 4 | protocol 1 | 0 3."""
    if protocol == 4:
        header, whole = 4 * (packet[0] & 15), int.from_bytes(packet[2:4])
        mapped = bytes(10) + b"\xff\xff"
        addresses = mapped + packet[12:16] + mapped + packet[16:20]
        transport, is_later = packet[9], int.from_bytes(packet[6:8]) % 8192 != 0
    else:
        header, whole = 40, 40 + int.from_bytes(packet[4:6])
        addresses, transport, is_later = packet[8:40], packet[6], False
    ports = packet[header : min(whole, header + 4)]
    if transport not in (TCP, UDP) or is_later or len(ports) < 4:
        ports = bytes(4)
    return addresses + ports + bytes([transport, 0, 0, 0])
