// SPDX-License-Identifier: Apache-2.0
/*
 * What the module finds in packets beside what test_list.c has: sockets of hosts, ICMP errors, inner packets that are none;
 * and packets that have not been segmented yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "class_row.h"
#include "vectors.h"
#include "stand.h"

enum {
	ECN_CE = 3,
	ECN_ECT0 = 2,
	STATE_TIME_WAIT = 6,
	SETTLE_MS = 20,
	SETTLE_SAME = 13,  /* 260 ms; a delayed ACK takes 200 at most */
	SETTLE_FIRST = 75, /* 1.5 s; of an answered SYN, a timer holds its socket for 1 s all the same */
	SETTLE_TRIES = 500,
	SEGMENT = 500, /* bytes of TCP in a segment */
	SEGMENTS = 3,  /* the last one is shorter */
	SEGMENT_LAST = 300,
};

/* A server that remembers nothing. */
static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

/* A list without candidates, for an inner packet of that protocol. */
static struct packet begin(fl_u8 inner_protocol)
{
	struct fl_list list = stand_list(inner_protocol);
	struct packet packet;

	stand_begin(&packet, RIG_SELF, &list);
	return packet;
}

static const struct packet_tcp *unknown(void)
{
	return &rig_packets(RIG_IPV4)->unknown;
}

/* Whether one of the packets that are sent now has this socket in TIME-WAIT. Former ones end at any time. */
static bool is_time_wait_of(const struct rig_packets *packets, unsigned int port)
{
	int family, pair;

	for (family = 0; family < RIG_FAMILIES; family++)
		for (pair = 0; pair < RIG_PAIRS; pair++)
			if (packets[family].connections[pair].time_wait.flow.source_port == port)
				return true;
	return false;
}

/* The sum of all sockets' reference counts, as /proc shows them. */
static unsigned int references(const struct rig_packets *packets)
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char path[32], line[512];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/net/%s", tables[i]);
		file = fopen(path, "re");
		assert_non_null(file);
		while (fgets(line, sizeof(line), file)) {
			unsigned int remote, state, count;

			/* slot, both ends, state, queues, timer, retransmissions, user, timeout, inode,
			 * references */
			if (sscanf(line, "%*s %*s %*[0-9A-F]:%x %x %*s %*s %*s %*s %*s %*s %u", &remote, &state,
				   &count) == 3 &&
			    (state != STATE_TIME_WAIT || is_time_wait_of(packets, remote)))
				sum += count;
		}
		fclose(file);
	}
	return sum;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

/* Once they stay the same for longer than a packet in the kernel, or the timer of a delayed ACK, holds a socket. */
static unsigned int settled_references(const struct rig_packets *packets, int enough)
{
	unsigned int now = references(packets);
	int same = 0, i;

	for (i = 0; i < SETTLE_TRIES && same < enough; i++) {
		unsigned int then = now;

		pause_ms(SETTLE_MS);
		now = references(packets);
		same = now == then ? same + 1 : 0;
	}
	return now;
}

/* Waits until they are that many: what was delivered may still be on its way. */
static void expect_references(const struct rig_packets *packets, unsigned int expected)
{
	int i;

	for (i = 0; i < SETTLE_TRIES && references(packets) != expected; i++)
		pause_ms(SETTLE_MS);
	assert_int_equal(references(packets), expected);
}

/* Five times, so that a reference that the lookup kept would be seen. */
static void class_of_row(const struct class_row *row, const struct rig_packets *packets, enum rig_family family,
			 enum rig_pair pair)
{
	struct packet packet = begin(family == RIG_IPV4 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6);
	size_t inner_at = packet.len;
	int repeat;

	class_row_add(&packet, row, &packets[family], pair);
	packet_finish_outer(&packet);
	for (repeat = 0; repeat < 5; repeat++) {
		enum fl_counter counter = stand_send(&packet);

		if (counter != row->counter)
			fail_msg("IPv%d%s: counted as %s", family == RIG_IPV4 ? 4 : 6, class_row_pair_name(row, pair),
				 counter < FL_COUNTERS ? fl_counter_names[counter] : "none or several");
		stand_expect_delivered(packet.data + inner_at, packet.len - inner_at);
	}
}

/* Whether the host has a socket. */
static void class_of(void **state)
{
	const struct class_row *row = *state;
	struct config config = rig_config_both();
	const struct rig_packets *packets;
	unsigned int before;
	int family, pair;

	set_anew(&config);
	packets = rig_packets(RIG_IPV4); /* makes sockets, if it does, before they are counted */
	before = settled_references(packets, SETTLE_SAME);
	assert_true(before > 4);
	for (family = 0; family < RIG_FAMILIES; family++)
		for (pair = 0; pair < class_row_pairs(row); pair++)
			class_of_row(row, packets, (enum rig_family)family, (enum rig_pair)pair);
	expect_references(packets, before);
}

/* An ICMP error goes by the packet that it quotes: 8 bytes of its transport header are enough. */
static void icmp(enum rig_family family, const struct packet_tcp *tcp, enum fl_counter expected)
{
	struct packet packet = begin(family == RIG_IPV4 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6), quoted = {.len = 0};
	struct fl_address router = packet_address(family == RIG_IPV4 ? "10.1.0.1" : "2001:db8:1::1");
	struct packet_tcp reply = *tcp;
	struct config config = rig_config_both();

	set_anew(&config);
	reply.flow = packet_reverse(&tcp->flow);
	packet_add_tcp(&quoted, &reply);
	packet_add_icmp_error(&packet, &router, &quoted);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), expected);
}

static void icmp_errors(void **state)
{
	int family;

	(void)state;
	for (family = 0; family < RIG_FAMILIES; family++) {
		icmp(family, &rig_packets(family)->established, FL_COUNTER_DELIVER_LOCAL_SOCKET);
		icmp(family, &rig_packets(family)->unknown, FL_COUNTER_DELIVER_UNKNOWN);
	}
}

static void inner_malformed(void **state)
{
	struct packet whole = begin(FL_LIST_GUE_IPV4), packet;
	struct config config = rig_config();
	size_t inner_at = whole.len, len;

	(void)state;
	set_anew(&config);
	packet_add_tcp(&whole, unknown());
	for (len = inner_at; len < whole.len; len++) { /* cut short at every byte */
		packet = whole;
		packet.len = len;
		packet_finish_outer(&packet);
		assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
	}
	packet = whole;
	packet.data[inner_at] = 0x44; /* a header of 16 bytes */
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
	packet.data[inner_at] = 0x65; /* IPv6 where GUE says IPv4 */
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_INNER);
}

static void vip_not_local(void **state)
{
	struct packet_tcp elsewhere = rig_packets(RIG_IPV4)->syn, elsewhere6 = rig_packets(RIG_IPV6)->syn;
	struct packet packet = begin(FL_LIST_GUE_IPV4), packet6 = begin(FL_LIST_GUE_IPV6);
	struct config config = rig_config();

	(void)state;
	set_anew(&config);
	elsewhere.flow.destination = packet_address("10.99.0.77");
	elsewhere6.flow.destination = packet_address("2001:db8:99::77");
	packet_add_tcp(&packet, &elsewhere);
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_VIP_NOT_LOCAL);
	packet_add_tcp(&packet6, &elsewhere6);
	packet_finish_outer(&packet6);
	assert_int_equal(stand_send(&packet6), FL_COUNTER_DROP_VIP_NOT_LOCAL);
}

/* RFC 6040: congestion met outside is carried inside, or drops what would not understand. */
static void congestion(void **state)
{
	struct packet packet = begin(FL_LIST_GUE_IPV4);
	struct config config = rig_config();
	size_t inner_at = packet.len;
	fl_u8 *inner = packet.data + inner_at;

	(void)state;
	set_anew(&config);
	packet_add_tcp(&packet, unknown());
	packet.data[PACKET_OUTER_AT + 1] = ECN_CE;
	packet_finish_outer(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_CONGESTED);
	inner[1] = ECN_ECT0;
	fl_store_be16(inner + 10, 0);
	fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_UNKNOWN);
	inner[1] = ECN_CE;
	fl_store_be16(inner + 10, 0);
	fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	stand_expect_delivered(inner, packet.len - inner_at);
}

/* The packet with SEGMENTS segments of an unknown connection in one, as a virtual machine's interface hands it over. */
static struct packet unsegmented(const char *self, const struct fl_list *list)
{
	bool is_ipv4 = list->inner_protocol == FL_LIST_GUE_IPV4;
	size_t inner_at, len = (SEGMENTS - 1) * SEGMENT + SEGMENT_LAST, i;
	struct packet packet;
	fl_u8 *inner;

	stand_begin(&packet, self, list);
	inner_at = packet.len;
	packet_add_tcp(&packet, &rig_packets(is_ipv4 ? RIG_IPV4 : RIG_IPV6)->unknown);
	inner = packet.data + inner_at;
	for (i = 0; i < len; i++)
		packet.data[packet.len++] = (fl_u8)(i * 7 + i / 256);
	if (is_ipv4) {
		fl_store_be16(inner + 2, (fl_u16)(packet.len - inner_at));
		fl_store_be16(inner + 10, 0);
		fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	} else {
		fl_store_be16(inner + 4, (fl_u16)(packet.len - inner_at - 40));
	}
	packet_finish_outer(&packet);
	return packet;
}

/* The sum over the pseudo header of a TCP segment of so many bytes. */
static fl_u32 pseudo_sum(const fl_u8 *ip, size_t len)
{
	size_t from = ip[0] >> 4 == 4 ? 12 : 8, to = ip[0] >> 4 == 4 ? 20 : 40;
	fl_u32 sum = IPPROTO_TCP + (fl_u32)len;

	for (; from < to; from += 2)
		sum += fl_load_be16(ip + from);
	return sum;
}

/* A virtual machine's interface, by which packets come in that have not been segmented. */
static int machine_open(void)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, .ifr_name = "machine"};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		fail_msg("machine: %s", strerror(errno));
	rig_command("ip link set machine address 02:00:00:00:00:02 addrgenmode none up");
	rig_command("for all in all machine; do echo 0 >/proc/sys/net/ipv4/conf/$all/rp_filter; done");
	return fd;
}

/* Whoever segments the packet completes its checksum. */
static void put_unsegmented(const struct packet *packet, size_t inner_at)
{
	static int machine = -1;
	static const fl_u8 mac[6] = {0x02, 0, 0, 0, 0, 0x02};
	struct {
		struct virtio_net_hdr offload;
		fl_u8 bytes[PACKET_MAX];
	} __attribute__((packed)) sent = {.offload = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM}};
	bool is_ipv4 = packet->data[inner_at] >> 4 == 4;
	size_t tcp_at = inner_at + (is_ipv4 ? 20 : 40), len = sizeof(sent.offload) + packet->len;
	fl_u32 sum = pseudo_sum(packet->data + inner_at, packet->len - tcp_at);

	if (machine < 0)
		machine = machine_open();
	sent.offload.gso_type = is_ipv4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
	sent.offload.hdr_len = (fl_u16)(tcp_at + 20);
	sent.offload.gso_size = SEGMENT;
	sent.offload.csum_start = (fl_u16)tcp_at;
	sent.offload.csum_offset = 16;
	memcpy(sent.bytes, packet->data, packet->len);
	memcpy(sent.bytes, mac, sizeof(mac));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(sent.bytes + tcp_at + 16, (fl_u16)sum);
	if (write(machine, &sent, len) != (ssize_t)len)
		fail_msg("machine: %s", strerror(errno));
}

/* One that went out is this segment of the packet, with the list as it was sent on. */
static void check_segment(const struct packet *packet, size_t inner_at, const struct packet *out, size_t number)
{
	size_t gue_at = stand_gue_at(out), header = inner_at - stand_gue_at(packet), at = gue_at + header;
	bool is_ipv4 = packet->data[inner_at] >> 4 == 4;
	size_t ip_len = is_ipv4 ? 20 : 40, data_at = at + ip_len + 20;
	size_t len = number < SEGMENTS - 1 ? SEGMENT : SEGMENT_LAST;
	fl_u32 sequence = fl_load_be32(packet->data + inner_at + ip_len + 4);

	assert_int_equal(out->len, data_at + len);
	assert_int_equal(fl_load_be16(out->data + gue_at - 4), out->len - gue_at + 8);
	assert_int_equal(out->data[gue_at + FL_LIST_AT_VERSION], FL_LIST_VERSION << 4); /* none is left */
	assert_int_equal(fl_load_be16(out->data + at + (is_ipv4 ? 2 : 4)), len + 20 + (is_ipv4 ? 20 : 0));
	if (is_ipv4)
		assert_int_equal(packet_checksum(out->data + at, 20, 0), 0);
	assert_int_equal(fl_load_be32(out->data + at + ip_len + 4), sequence + number * SEGMENT);
	assert_memory_equal(out->data + data_at, packet->data + inner_at + ip_len + 20 + number * SEGMENT, len);
	assert_int_equal(packet_checksum(out->data + at + ip_len, len + 20, pseudo_sum(out->data + at, len + 20)), 0);
}

static void segmented(const char *self, const char *next, fl_u8 inner_protocol)
{
	struct fl_list list = stand_list(inner_protocol);
	struct config config = rig_config_both();
	size_t inner_at, i;
	struct packet packet, out;

	stand_list_add(&list, next);
	packet = unsegmented(self, &list);
	inner_at =
	    stand_gue_at(&packet) + fl_list_len(1, (fl_u8)(packet.data[stand_gue_at(&packet) + FL_LIST_AT_FLAGS] & 15));
	set_anew(&config);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, inner_at), FL_COUNTER_CHAIN);
	for (i = 0; i < SEGMENTS; i++) {
		stand_expect_chained(&out);
		check_segment(&packet, inner_at, &out, i);
	}
	assert_int_equal(stand_counter(FL_COUNTER_CHAIN), 1);
}

static void segments_are_sent_on(void **state)
{
	static const fl_u8 protocols[] = {FL_LIST_GUE_IPV4, FL_LIST_GUE_IPV6};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		segmented(RIG_SELF, "10.1.0.23", protocols[i]);
		segmented(RIG_SELF, "2001:db8:1::23", protocols[i]);
		segmented(RIG_SELF6, "10.1.0.23", protocols[i]);
		segmented(RIG_SELF6, "2001:db8:1::23", protocols[i]);
	}
}

/* Where no candidate can be sent to, it is what it was: whole, and stale. Without one it is delivered whole. */
static void segments_with_nowhere_to_go(void **state)
{
	struct fl_list list = stand_list(FL_LIST_GUE_IPV4), none = list;
	struct config config = rig_config_both();
	struct packet packet;
	size_t inner_at;

	(void)state;
	stand_list_add(&list, "10.3.0.1");
	stand_list_add(&list, "::");
	packet = unsegmented(RIG_SELF, &list);
	inner_at = PACKET_GUE_AT + fl_list_len(2, FL_LIST_IPV6);
	set_anew(&config);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, inner_at), FL_COUNTER_DROP_STALE);
	assert_int_equal(stand_counter(FL_COUNTER_SKIPPED), 2);
	packet = unsegmented(RIG_SELF, &none);
	inner_at = PACKET_GUE_AT + fl_list_len(0, 0);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, inner_at), FL_COUNTER_DELIVER_UNKNOWN);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	stand_open();
	settled_references(rig_packets(RIG_IPV4), SETTLE_FIRST);
	for (i = 0; i < class_rows_count; i++)
		vectors_add_plain(&tests, class_rows[i].name, class_of, (void *)&class_rows[i]);
	vectors_add_plain(&tests, "ICMP errors go by what they quote", icmp_errors, NULL);
	vectors_add_plain(&tests, "inner packets that are none", inner_malformed, NULL);
	vectors_add_plain(&tests, "a VIP that is not the host's", vip_not_local, NULL);
	vectors_add_plain(&tests, "congestion is carried inside", congestion, NULL);
	vectors_add_plain(&tests, "packets that are not segmented are sent on in segments", segments_are_sent_on, NULL);
	vectors_add_plain(&tests, "packets that are not segmented, with nowhere to go", segments_with_nowhere_to_go,
			  NULL);
	return vectors_run("wire of the module", &tests);
}
