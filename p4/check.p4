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
        bit<16> sum;
        bit<64> network = meta.source_low >> 24;

        SUM_IPV4(checksum, sum)
        meta.ip_len = hdr.ipv4.total_len;
        meta.l4_len = hdr.ipv4.total_len - 20;
        meta.verdict = VERDICT_SERVICE;
        if (hdr.ipv4.version_ihl < 0x45) {
            meta.verdict = VERDICT_IP_HEADER_LENGTH;
        } else if (hdr.ipv4.version_ihl != 0x45) {
            meta.verdict = VERDICT_OPTIONS;
        } else if (hdr.ipv4.total_len < 20 || hdr.ipv4.total_len > meta.frame_len) {
            meta.verdict = VERDICT_IP_TOTAL_LENGTH;
        } else if (sum != SUM_RIGHT) {
            meta.verdict = VERDICT_IP_CHECKSUM;
        } else if (hdr.ipv4.ttl == 0) {
            meta.verdict = VERDICT_IP_TTL;
        } else if (network == 0 || network == 127 || network > 223 || meta.source_low == meta.destination_low) {
            meta.verdict = VERDICT_IP_SOURCE;
        } else if ((hdr.ipv4.fragment & 0x3fff) != 0) { /* more fragments, or an offset */
            meta.verdict = VERDICT_FRAGMENT;
        } else if (meta.data_len < meta.frame_len) {
            meta.verdict = VERDICT_SEGMENTED;
        } else if (hdr.ipv4.protocol == PROTOCOL_ICMP) {
            meta.verdict = VERDICT_ICMP;
        }
    }
}

/* IPv6 may not come from the unspecified address, loopback, mapped, multicast and link-local ones, nor from the VIP. */
control judge_ipv6(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<64> prefix = meta.source_high >> 54; /* the first ten bits */

        meta.ip_len = hdr.ipv6.payload_len + 40;
        meta.l4_len = hdr.ipv6.payload_len;
        meta.verdict = VERDICT_SERVICE;
        if (hdr.ipv6.payload_len > meta.frame_len - 40) {
            meta.verdict = VERDICT_IP_TOTAL_LENGTH;
        } else if (hdr.ipv6.hop_limit == 0) {
            meta.verdict = VERDICT_IP_TTL;
        } else if (meta.source_high == 0) {
            if (meta.source_low < 2 || meta.source_low >> 32 == 0xffff) {
                meta.verdict = VERDICT_IP_SOURCE;
            }
        } else if (prefix == 0x3fa || prefix > 0x3fb) {
            meta.verdict = VERDICT_IP_SOURCE;
        }
        if (meta.verdict == VERDICT_SERVICE) {
            if (meta.source_low == meta.destination_low && meta.source_high == meta.destination_high) {
                meta.verdict = VERDICT_IP_SOURCE;
            } else if (hdr.ipv6.next_header == PROTOCOL_HOP_BY_HOP || hdr.ipv6.next_header == PROTOCOL_ROUTING
                       || hdr.ipv6.next_header == PROTOCOL_FRAGMENT
                       || hdr.ipv6.next_header == PROTOCOL_AUTHENTICATION
                       || hdr.ipv6.next_header == PROTOCOL_DESTINATION) {
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
            bit<16> header_len = ((bit<16>)hdr.tcp.offset >> 4) << 2;

            if (meta.l4_len < 20) {
                meta.verdict = VERDICT_TCP_TRUNCATED;
            } else if (header_len < 20 || header_len > meta.l4_len) {
                meta.verdict = VERDICT_TCP_OFFSET;
            } else if (hdr.tcp.source_port == 0) {
                meta.verdict = VERDICT_TCP_PORT_ZERO;
            } else if ((hdr.tcp.flags & TCP_SYN) != 0 && (meta.kind & KIND_REFER_SYN) != 0) {
                meta.verdict = VERDICT_REFERRED;
            }
        } else if (HAS_UDP(hdr, meta)) {
            if (meta.l4_len < 8) {
                meta.verdict = VERDICT_UDP_TRUNCATED;
            } else if (hdr.udp.len < 8 || hdr.udp.len > meta.l4_len) {
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
control arrive(inout headers_t hdr, inout metadata_t meta, in bit<64> port) {
    apply {
        bit<64> mac;

        READ(mac, macs, port)
        meta.verdict = VERDICT_NOT_OURS;
        meta.inner_protocol = 0;
        meta.slot = 0;
        meta.kind = 0;
        meta.is_vip = 0;
        meta.is_source = 0;
        meta.source_port = 0;
        meta.destination_port = 0;
        meta.data_len = hdr.arrival.data_len;
        meta.frame_len = hdr.arrival.frame_len - meta.at_ip;
        if (hdr.tcp.isValid()) {
            meta.source_port = hdr.tcp.source_port;
            meta.destination_port = hdr.tcp.destination_port;
        } else if (hdr.udp.isValid()) {
            meta.source_port = hdr.udp.source_port;
            meta.destination_port = hdr.udp.destination_port;
        }
        if ((bit<64>)hdr.ethernet.destination == mac) {
            /* the frame goes on at least as far as the IP header does */
            if (hdr.ipv4.isValid()) {
                meta.source_low = (bit<64>)hdr.ipv4.source;
                meta.destination_low = (bit<64>)hdr.ipv4.destination;
                meta.protocol = hdr.ipv4.protocol;
                if (hdr.ipv4.version_ihl >> 4 == 4 && meta.data_len >= meta.at_ip + 20) {
                    meta.data_len = meta.data_len - meta.at_ip;
                    meta.inner_protocol = 4;
                }
            } else if (hdr.ipv6.isValid()) {
                meta.source_high = hdr.ipv6.source_high;
                meta.source_low = hdr.ipv6.source_low;
                meta.destination_high = hdr.ipv6.destination_high;
                meta.destination_low = hdr.ipv6.destination_low;
                meta.protocol = hdr.ipv6.next_header;
                if (hdr.ipv6.version_class >> 12 == 6 && meta.data_len >= meta.at_ip + 40) {
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
            if (meta.slot == 0) {
                meta.verdict = VERDICT_NO_SERVICE_PORT;
            } else if ((meta.kind & KIND_REFER) != 0) {
                meta.verdict = VERDICT_REFERRED;
            }
        }
        if (meta.verdict != VERDICT_SERVICE) {
            meta.slot = 0; /* counted for no service */
        }
    }
}
