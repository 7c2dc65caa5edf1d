/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser: Ethernet, at most two VLAN tags, IPv4 or IPv6, TCP or UDP behind it. It looks at no length: a header that
 * the frame does not have is read from the buffer behind it, where the port guarantees bytes (port.h), and check.p4
 * compares lengths before it believes a header.
 */
    state start {
        EXTRACT_ARRIVAL(packet, hdr)
        packet.extract(hdr.ethernet);
        meta.at_ip = 14;
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_VLAN: vlan0;
            TYPE_SERVICE_VLAN: vlan0;
            default: accept;
        }
    }

    state vlan0 {
        packet.extract(hdr.vlan0);
        meta.at_ip = 18;
        transition select(hdr.vlan0.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            TYPE_VLAN: vlan1;
            TYPE_SERVICE_VLAN: vlan1;
            default: accept;
        }
    }

    state vlan1 {
        packet.extract(hdr.vlan1);
        meta.at_ip = 22;
        transition select(hdr.vlan1.type) {
            TYPE_IPV4: ipv4;
            TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    /* IPv4 with options is referred: what is behind them is not looked at. */
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version_ihl) {
            0x45: ipv4_plain;
            default: accept;
        }
    }

    state ipv4_plain {
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_TCP: tcp;
            PROTOCOL_UDP: udp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }

    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
