/* SPDX-License-Identifier: Apache-2.0 */
/* Deparser: the outer header, if there is one, then what is left of the frame. */
    apply {
        packet.emit(hdr.outer4);
        packet.emit(hdr.outer6);
        packet.emit(hdr.outer_ipip);
        packet.emit(hdr.even);
        packet.emit(hdr.odd);
        packet.emit(hdr.two4_0);
        packet.emit(hdr.two4_1);
        packet.emit(hdr.two4_2);
        packet.emit(hdr.one6_0);
        packet.emit(hdr.one6_1);
        packet.emit(hdr.one6_2);
        packet.emit(hdr.one6_3);
        packet.emit(hdr.one6_4);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan0);
        packet.emit(hdr.vlan1);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
