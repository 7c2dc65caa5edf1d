/* SPDX-License-Identifier: Apache-2.0 */
/* Deparser: the outer header, if there is one, then what is left of the frame. */
    apply {
        packet.emit(hdr.outer4);
        packet.emit(hdr.outer6);
        packet.emit(hdr.outer_ipip);
        packet.emit(hdr.second4);
        packet.emit(hdr.second6);
        packet.emit(hdr.moved2_4);
        packet.emit(hdr.moved2_6);
        packet.emit(hdr.moved4);
        packet.emit(hdr.moved6);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan0);
        packet.emit(hdr.vlan1);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
