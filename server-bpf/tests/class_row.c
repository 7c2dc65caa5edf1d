// SPDX-License-Identifier: Apache-2.0
#include "class_row.h"

enum {
	PAYLOAD = 32,
};

#define TCP(field)  CLASS_ROW_TCP, offsetof(struct rig_packets, field)
#define PAIR(field) CLASS_ROW_PAIR, offsetof(struct rig_connection, field)
#define UDP(field)  CLASS_ROW_UDP, offsetof(struct rig_packets, field)

const struct class_row class_rows[] = {
    {"a connection in TIME-WAIT", PAIR(time_wait), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"in TIME-WAIT, the port used again elsewhere", PAIR(time_wait_later), FL_COUNTER_DELIVER_UNKNOWN},
    {"RST without ACK in TIME-WAIT", PAIR(time_wait_reset), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"RST without ACK in TIME-WAIT, of a connection elsewhere", PAIR(time_wait_later_reset),
     FL_COUNTER_DELIVER_UNKNOWN},
    {"a SYN", TCP(syn), FL_COUNTER_DELIVER_SYN},
    {"an established connection", PAIR(established), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"established, a segment sent again", PAIR(established_again), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"established, the window's last segment", PAIR(established_filling), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"established, the port used again elsewhere", PAIR(established_elsewhere), FL_COUNTER_DELIVER_UNKNOWN},
    {"established, the port used before elsewhere", PAIR(established_before), FL_COUNTER_DELIVER_UNKNOWN},
    {"established, a sequence ahead of it", PAIR(established_ahead), FL_COUNTER_DELIVER_UNKNOWN},
    {"established, a sequence behind it", PAIR(established_behind), FL_COUNTER_DELIVER_UNKNOWN},
    {"a half-open connection", TCP(half_open), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"half-open, another host's SYN-ACK acknowledged", TCP(half_open_elsewhere), FL_COUNTER_DELIVER_UNKNOWN},
    {"half-open at MPTCP", TCP(half_open_mptcp), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"half-open at MPTCP, another host's SYN-ACK acknowledged", TCP(half_open_mptcp_elsewhere),
     FL_COUNTER_DELIVER_UNKNOWN},
    {"the ACK of a SYN cookie", TCP(cookie_ack), FL_COUNTER_DELIVER_COOKIE_ACK},
    {"the ACK of a wrong SYN cookie", TCP(bad_cookie), FL_COUNTER_DELIVER_UNKNOWN},
    {"an unknown connection", TCP(unknown), FL_COUNTER_DELIVER_UNKNOWN},
    {"a port without a listener", TCP(no_listener), FL_COUNTER_DELIVER_UNKNOWN},
    {"a connected UDP socket", UDP(udp_connected), FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"UDP from elsewhere to it", UDP(udp_other), FL_COUNTER_DELIVER_UNKNOWN},
    {"an unconnected UDP socket", UDP(udp_unconnected), FL_COUNTER_DELIVER_NO_RESET},
};

const size_t class_rows_count = sizeof(class_rows) / sizeof(class_rows[0]);

int class_row_pairs(const struct class_row *row)
{
	return row->of == CLASS_ROW_PAIR ? RIG_PAIRS : 1;
}

const char *class_row_pair_name(const struct class_row *row, enum rig_pair pair)
{
	static const char *const names[RIG_PAIRS] = {"", ", an MPTCP client", ", an MPTCP listener", ", MPTCP"};

	return row->of == CLASS_ROW_PAIR ? names[pair] : "";
}

void class_row_add(struct packet *packet, const struct class_row *row, const struct rig_packets *packets,
		   enum rig_pair pair)
{
	const char *base =
	    row->of == CLASS_ROW_PAIR ? (const char *)&packets->connections[pair] : (const char *)packets;

	if (row->of == CLASS_ROW_UDP)
		packet_add_udp(packet, (const struct packet_flow *)(base + row->at), PAYLOAD);
	else
		packet_add_tcp(packet, (const struct packet_tcp *)(base + row->at));
}
