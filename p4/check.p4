/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check: is it for a VIP, is it sound, which service has its port. The same checks in the same order as classify() of
 * mux/packet/classify.c; what that decides by walking a chain of headers or by memory is referred here.
 *
 * A port's table is asked before the VIPs': a packet that finds its service needs no second lookup.
 */

/* IPv4 may not come from this network, loopback, multicast, reserved addresses, nor from the VIP itself. */
control judge_ipv4(inout headers_t hdr, inout metadata_t meta) {
    CHECKSUM(checksum)

    apply {
        SUM_IPV4(checksum, meta.half)
        meta.wide = meta.source_low;
        meta.wide = meta.wide >> 24;
        meta.ip_len = hdr.ipv4.total_len;
        meta.l4_len = hdr.ipv4.total_len;
        meta.l4_len = meta.l4_len - 20;
        meta.verdict = VERDICT_SERVICE;
        if (hdr.ipv4.version_ihl < 0x45) {
            meta.verdict = VERDICT_IP_HEADER_LENGTH;
        } else if (hdr.ipv4.version_ihl != 0x45) {
            meta.verdict = VERDICT_OPTIONS;
        } else if (hdr.ipv4.total_len < 20) {
            meta.verdict = VERDICT_IP_TOTAL_LENGTH;
        } else if (hdr.ipv4.total_len > meta.frame_len) {
            meta.verdict = VERDICT_IP_TOTAL_LENGTH;
        } else if (meta.half != SUM_RIGHT) {
            meta.verdict = VERDICT_IP_CHECKSUM;
        } else if (hdr.ipv4.ttl == 0) {
            meta.verdict = VERDICT_IP_TTL;
        } else if (meta.wide == 0) {
            meta.verdict = VERDICT_IP_SOURCE;
        } else if (meta.wide == 127) {
            meta.verdict = VERDICT_IP_SOURCE;
        } else if (meta.wide > 223) {
            meta.verdict = VERDICT_IP_SOURCE;
        } else if (meta.source_low == meta.destination_low) {
            meta.verdict = VERDICT_IP_SOURCE;
        } else {
            meta.half = hdr.ipv4.fragment;
            meta.half = meta.half & 0x3fff; /* more fragments, or an offset */
            if (meta.half != 0) {
                meta.verdict = VERDICT_FRAGMENT;
            } else if (meta.data_len < meta.frame_len) {
                meta.verdict = VERDICT_SEGMENTED;
            } else if (hdr.ipv4.protocol == PROTOCOL_ICMP) {
                meta.verdict = VERDICT_ICMP;
            }
        }
    }
}

/* IPv6 may not come from the unspecified address, loopback, mapped, multicast and link-local ones, nor from the VIP. */
control judge_ipv6(inout headers_t hdr, inout metadata_t meta) {
    apply {
        meta.half = meta.frame_len;
        meta.half = meta.half - 40;
        meta.ip_len = hdr.ipv6.payload_len;
        meta.ip_len = meta.ip_len + 40;
        meta.l4_len = hdr.ipv6.payload_len;
        meta.verdict = VERDICT_SERVICE;
        if (hdr.ipv6.payload_len > meta.half) {
            meta.verdict = VERDICT_IP_TOTAL_LENGTH;
        } else if (hdr.ipv6.hop_limit == 0) {
            meta.verdict = VERDICT_IP_TTL;
        } else if (meta.source_high == 0) {
            meta.wide = meta.source_low;
            meta.wide = meta.wide >> 32;
            if (meta.source_low < 2) {
                meta.verdict = VERDICT_IP_SOURCE;
            } else if (meta.wide == 0xffff) {
                meta.verdict = VERDICT_IP_SOURCE;
            }
        } else {
            meta.wide = meta.source_high;
            meta.wide = meta.wide >> 54; /* the first ten bits */
            if (meta.wide == 0x3fa) {
                meta.verdict = VERDICT_IP_SOURCE;
            } else if (meta.wide > 0x3fb) {
                meta.verdict = VERDICT_IP_SOURCE;
            }
        }
        if (meta.verdict == VERDICT_SERVICE) {
            if (meta.source_low == meta.destination_low && meta.source_high == meta.destination_high) {
                meta.verdict = VERDICT_IP_SOURCE;
            } else if (hdr.ipv6.next_header == PROTOCOL_HOP_BY_HOP) {
                meta.verdict = VERDICT_EXTENSIONS;
            } else if (hdr.ipv6.next_header == PROTOCOL_ROUTING) {
                meta.verdict = VERDICT_EXTENSIONS;
            } else if (hdr.ipv6.next_header == PROTOCOL_FRAGMENT) {
                meta.verdict = VERDICT_EXTENSIONS;
            } else if (hdr.ipv6.next_header == PROTOCOL_AUTHENTICATION) {
                meta.verdict = VERDICT_EXTENSIONS;
            } else if (hdr.ipv6.next_header == PROTOCOL_DESTINATION) {
                meta.verdict = VERDICT_EXTENSIONS;
            } else if (meta.data_len < meta.frame_len) {
                meta.verdict = VERDICT_SEGMENTED;
            } else if (hdr.ipv6.next_header == PROTOCOL_ICMPV6) {
                meta.verdict = VERDICT_ICMP;
            }
        }
    }
}

/* TCP or UDP of a sound IP packet that is no fragment, and the service at its port. */
control judge_transport(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (HAS_TCP(hdr, meta)) {
            meta.half = (bit<16>)hdr.tcp.offset;
            meta.half = meta.half >> 4;
            meta.half = meta.half << 2; /* bytes of the header */
            meta.octet = hdr.tcp.flags;
            meta.octet = meta.octet & TCP_SYN;
            meta.octet = meta.octet << 3; /* KIND_REFER_SYN */
            meta.octet = meta.octet & meta.kind;
            if (meta.l4_len < 20) {
                meta.verdict = VERDICT_TCP_TRUNCATED;
            } else if (meta.half < 20) {
                meta.verdict = VERDICT_TCP_OFFSET;
            } else if (meta.half > meta.l4_len) {
                meta.verdict = VERDICT_TCP_OFFSET;
            } else if (hdr.tcp.source_port == 0) {
                meta.verdict = VERDICT_TCP_PORT_ZERO;
            } else if (meta.octet != 0) {
                meta.verdict = VERDICT_REFERRED;
            }
        } else if (HAS_UDP(hdr, meta)) {
            if (meta.l4_len < 8) {
                meta.verdict = VERDICT_UDP_TRUNCATED;
            } else if (hdr.udp.len < 8) {
                meta.verdict = VERDICT_UDP_LENGTH;
            } else if (hdr.udp.len > meta.l4_len) {
                meta.verdict = VERDICT_UDP_LENGTH;
            } else if (meta.is_source != 0) {
                meta.verdict = VERDICT_IP_SOURCE;
            }
        } else {
            meta.verdict = VERDICT_PROTOCOL;
        }
    }
}

/* Before the tables are asked: our MAC, an IP header, and their keys. meta.inner_protocol: 0, the frame is not ours. */
control arrive(inout headers_t hdr, inout metadata_t meta) {
    apply {
        READ(meta.wide, macs, meta.index)
        meta.verdict = VERDICT_NOT_OURS;
        meta.inner_protocol = 0;
        meta.slot = 0;
        meta.kind = 0;
        meta.is_vip = 0;
        meta.is_source = 0;
        meta.source_port = 0;
        meta.destination_port = 0;
        meta.data_len = hdr.arrival.data_len;
        meta.frame_len = hdr.arrival.frame_len;
        meta.frame_len = meta.frame_len - meta.at_ip;
        if (hdr.tcp.isValid()) {
            meta.source_port = hdr.tcp.source_port;
            meta.destination_port = hdr.tcp.destination_port;
        } else if (hdr.udp.isValid()) {
            meta.source_port = hdr.udp.source_port;
            meta.destination_port = hdr.udp.destination_port;
        }
        meta.other = (bit<64>)hdr.ethernet.destination;
        if (meta.other == meta.wide) {
            meta.half = meta.at_ip; /* the frame's end, with no more than the IP header */
            if (hdr.ipv4.isValid()) {
                meta.source_low = (bit<64>)hdr.ipv4.source;
                meta.destination_low = (bit<64>)hdr.ipv4.destination;
                meta.protocol = hdr.ipv4.protocol;
                meta.half = meta.half + 20;
                meta.octet = hdr.ipv4.version_ihl;
                meta.octet = meta.octet >> 4;
                if (meta.octet == 4 && meta.data_len >= meta.half) {
                    meta.data_len = meta.data_len - meta.at_ip;
                    meta.inner_protocol = 4;
                }
            } else if (hdr.ipv6.isValid()) {
                meta.source_high = hdr.ipv6.source_high;
                meta.source_low = hdr.ipv6.source_low;
                meta.destination_high = hdr.ipv6.destination_high;
                meta.destination_low = hdr.ipv6.destination_low;
                meta.protocol = hdr.ipv6.next_header;
                meta.half = meta.half + 40;
                meta.l4_len = hdr.ipv6.version_class;
                meta.l4_len = meta.l4_len >> 12;
                if (meta.l4_len == 6 && meta.data_len >= meta.half) {
                    meta.data_len = meta.data_len - meta.at_ip;
                    meta.inner_protocol = 41;
                }
            }
        }
    }
}

/* Behind the tables, of a packet to a VIP. */
control judge(inout headers_t hdr, inout metadata_t meta) {
    judge_ipv4() ipv4;
    judge_ipv6() ipv6;
    judge_transport() transport;

    apply {
        if (meta.inner_protocol == 4) {
            ipv4.apply(hdr, meta);
        } else {
            ipv6.apply(hdr, meta);
        }
        if (meta.verdict == VERDICT_SERVICE) {
            transport.apply(hdr, meta);
        }
        if (meta.verdict == VERDICT_SERVICE) {
            meta.octet = meta.kind & KIND_REFER;
            if (meta.slot == 0) {
                meta.verdict = VERDICT_NO_SERVICE_PORT;
            } else if (meta.octet != 0) {
                meta.verdict = VERDICT_REFERRED;
            }
        }
        if (meta.verdict != VERDICT_SERVICE) {
            meta.slot = 0; /* counted for no service */
        }
    }
}
