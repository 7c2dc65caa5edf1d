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
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <fairlead/ipip.h>
#include <fairlead/list_srv6.h>

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
	ROUTING = 43,
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

/* A list without candidates, for an inner packet of that family. */
static struct packet begin(enum rig_family inner)
{
	struct fl_list list = rig_list(inner);
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
	struct packet packet = begin(family);
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
	struct packet packet = begin(family), quoted = {.len = 0};
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
	struct packet whole = begin(RIG_IPV4), packet;
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
	struct packet packet = begin(RIG_IPV4), packet6 = begin(RIG_IPV6);
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
	struct packet packet = begin(RIG_IPV4);
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

/* An outer header to this server with one candidate or none: the paper's, or with segments. */
static struct packet outer_make(bool is_ipip, enum rig_family inner, const char *candidate)
{
	struct fl_address self = packet_address(is_ipip ? RIG_SELF : RIG_SELF6);
	struct fl_address mux = packet_address(is_ipip ? RIG_MUX : RIG_MUX6);
	struct fl_ipip ipip = {.generation = RIG_GENERATION};
	struct fl_list list = rig_list(inner);
	fl_u8 header[FL_LIST_SRV6_MAX_LEN];
	struct packet packet;

	if (candidate)
		stand_list_add(&list, candidate);
	packet_begin_outer(&packet, &mux, &self, 0);
	if (is_ipip) {
		memcpy(ipip.source, mux.bytes + 12, 4);
		memcpy(ipip.destination, self.bytes + 12, 4);
		memcpy(ipip.previous, list.candidate[0].bytes + 12, 4);
		fl_ipip_write(&ipip, header);
		packet.len = PACKET_OUTER_AT;
		packet_add_bytes(&packet, header, FL_IPIP_LEN);
	} else {
		packet.len = PACKET_OUTER_AT + FL_IPV6_LEN;
		packet.data[PACKET_OUTER_AT + 6] = ROUTING;
		packet_add_bytes(&packet, header, fl_list_srv6_write(&list, &self, header));
	}
	return packet;
}

/* The packet with SEGMENTS segments of an unknown connection in one, as a virtual machine's interface hands it over. */
static struct packet unsegmented(bool is_ipip, enum rig_family family, const char *candidate)
{
	struct packet packet = outer_make(is_ipip, family, candidate);
	size_t inner_at = packet.len, len = (SEGMENTS - 1) * SEGMENT + SEGMENT_LAST, i;
	fl_u8 *inner = packet.data + inner_at, *outer = packet.data + PACKET_OUTER_AT;

	packet_add_tcp(&packet, &rig_packets(family)->unknown);
	for (i = 0; i < len; i++)
		packet.data[packet.len++] = (fl_u8)(i * 7 + i / 256);
	if (family == RIG_IPV4) {
		fl_store_be16(inner + 2, (fl_u16)(packet.len - inner_at));
		fl_store_be16(inner + 10, 0);
		fl_store_be16(inner + 10, packet_checksum(inner, 20, 0));
	} else {
		fl_store_be16(inner + 4, (fl_u16)(packet.len - inner_at - FL_IPV6_LEN));
	}
	if (is_ipip) {
		fl_store_be16(outer + FL_IPIP_AT_TOTAL_LEN, (fl_u16)(packet.len - PACKET_OUTER_AT));
		fl_ipip_checksum_set(outer);
	} else {
		fl_store_be16(outer + 4, (fl_u16)(packet.len - PACKET_OUTER_AT - FL_IPV6_LEN));
	}
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

/* One that went out is this segment of the packet, with lengths and sums of its own. */
static void check_segment(const struct packet *packet, size_t inner_at, const struct packet *out, size_t number)
{
	const fl_u8 *outer = out->data + PACKET_OUTER_AT, *inner = out->data + inner_at;
	bool is_ipip = outer[0] >> 4 == 4, is_ipv4 = packet->data[inner_at] >> 4 == 4;
	size_t tcp_at = inner_at + (is_ipv4 ? 20 : FL_IPV6_LEN), data_at = tcp_at + 20;
	size_t len = number < SEGMENTS - 1 ? SEGMENT : SEGMENT_LAST;

	assert_int_equal(out->len, data_at + len);
	if (is_ipip) {
		assert_int_equal(fl_load_be16(outer + FL_IPIP_AT_TOTAL_LEN), out->len - PACKET_OUTER_AT);
		assert_int_equal(fl_load_be16(outer + FL_IPIP_AT_CHECKSUM), fl_ipip_checksum(outer));
		assert_int_equal(fl_load_be32(outer + FL_IPIP_AT_PREVIOUS), 0);
	} else {
		assert_int_equal(fl_load_be16(outer + 4), out->len - PACKET_OUTER_AT - FL_IPV6_LEN);
		assert_int_equal(outer[FL_IPV6_LEN + FL_LIST_SRV6_AT_LEFT], 0);
	}
	assert_int_equal(fl_load_be16(inner + (is_ipv4 ? 2 : 4)), out->len - inner_at - (is_ipv4 ? 0 : FL_IPV6_LEN));
	if (is_ipv4)
		assert_int_equal(packet_checksum(inner, 20, 0), 0);
	assert_int_equal(fl_load_be32(out->data + tcp_at + 4),
			 fl_load_be32(packet->data + tcp_at + 4) + number * SEGMENT);
	assert_memory_equal(out->data + data_at, packet->data + data_at + number * SEGMENT, len);
	assert_int_equal(packet_checksum(out->data + tcp_at, len + 20, pseudo_sum(inner, len + 20)), 0);
}

static void segmented(bool is_ipip, enum rig_family inner, const char *next)
{
	struct packet packet = unsegmented(is_ipip, inner, next), out;
	size_t inner_at = outer_make(is_ipip, inner, next).len, i;
	struct config config = rig_config_both();

	config.program.ipip_service = RIG_SERVICE;
	set_anew(&config);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, inner_at), FL_COUNTER_CHAIN);
	for (i = 0; i < SEGMENTS; i++) {
		if (is_ipip)
			stand_expect_chained_ipip(&out);
		else
			stand_expect_chained_srv6(&out);
		check_segment(&packet, inner_at, &out, i);
	}
	assert_int_equal(stand_counter(FL_COUNTER_CHAIN), 1);
}

static void segments_are_sent_on(void **state)
{
	(void)state;
	segmented(true, RIG_IPV4, "10.1.0.23");
	segmented(false, RIG_IPV4, "2001:db8:1::23");
	segmented(false, RIG_IPV6, "2001:db8:1::23");
}

/* Where no candidate can be sent to, it is what it was: whole, and stale. Without one it is delivered whole. */
static void segments_with_nowhere_to_go(void **state)
{
	struct config config = rig_config_both();
	struct packet packet = unsegmented(false, RIG_IPV4, "2001:db8:3::1");

	(void)state;
	set_anew(&config);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, outer_make(false, RIG_IPV4, "2001:db8:3::1").len),
			 FL_COUNTER_DROP_STALE);
	assert_int_equal(stand_counter(FL_COUNTER_SKIPPED), 1);
	packet = unsegmented(false, RIG_IPV4, NULL);
	assert_int_equal(stand_send_by(put_unsegmented, &packet, outer_make(false, RIG_IPV4, NULL).len),
			 FL_COUNTER_DELIVER_UNKNOWN);
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
