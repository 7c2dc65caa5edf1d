// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"
#include "form.h"
#include "text.h"
#include "vectors.h"
#include "stand.h"

enum {
	DEADLINE_MILLISECONDS = 30000, /* on a busy host; else one or two */
};

static const fl_u8 mac_of_rig0[6] = {0x02, 0, 0, 0, 0, 0x02};

static struct genetlink client;
static int inside, wire; /* packet sockets at rig0 and rig1 */
static struct module_state before, after;
static struct fl_address self, self6; /* of the last configuration */

static void give_up(const char *what)
{
	fprintf(stderr, "stand: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int packet_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));

	address.sll_ifindex = (int)if_nametoindex(interface);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		give_up(interface);
	return fd;
}

void stand_open(void)
{
	memset(&self, 0, sizeof(self));
	memset(&self6, 0, sizeof(self6));
	rig_open();
	rig_command("ip rule add pref 10 lookup local && ip rule del pref 0");
	rig_command("ip rule add pref 5 iif rig0 to " RIG_VIP4 " blackhole");
	rig_command("ip -6 rule add pref 10 lookup local && ip -6 rule del pref 0");
	rig_command("ip -6 rule add pref 5 iif rig0 to " RIG_VIP6 " blackhole");
	inside = packet_socket("rig0");
	wire = packet_socket("rig1");
	if (module_open(&client)) {
		fprintf(stderr, "stand: %s\n", client.error);
		exit(1);
	}
}

void stand_let_in(void)
{
	rig_command("ip rule del pref 5 && ip -6 rule del pref 5");
}

struct genetlink *stand_client(void)
{
	return &client;
}

/* The kernel adds the local route of an IPv6 address a moment after the address, even without duplicate detection. */
static void local_route_await(const char *address)
{
	rig_command("timeout %d sh -c 'until ip route get %s | grep -q ^local; do sleep 0.01; done'",
		    DEADLINE_MILLISECONDS / 1000, address);
}

/* Adds or takes away an address of rig0, if it is one. */
static void address_change(const char *verb, const struct fl_address *address)
{
	char text[TEXT_LEN];

	if (!fl_address_is_none(address))
		rig_command("ip addr %s %s/%d dev rig0 nodad", verb, text_address_print(address, text),
			    fl_address_is_ipv4(address) ? 32 : 128);
}

static void address_add(const struct fl_address *address)
{
	char text[TEXT_LEN];

	address_change("add", address);
	if (!fl_address_is_none(address))
		local_route_await(text_address_print(address, text));
}

static void addresses_set(const struct fl_address *to, struct fl_address *is)
{
	if (fl_address_equal(to, is))
		return;
	address_change("del", is);
	address_add(to);
	*is = *to;
}

int stand_try_set(const struct config *config)
{
	return form_module_set(&client, config);
}

void stand_set(const struct config *config)
{
	addresses_set(&config->program.self, &self);
	addresses_set(&config->program.self6, &self6);
	if (stand_try_set(config)) {
		fprintf(stderr, "stand: %s\n", client.error);
		exit(1);
	}
}

void stand_detach(void)
{
	assert_int_equal(module_detach(&client), 0);
}

void stand_list_add(struct fl_list *list, const char *candidate)
{
	list->candidate[list->count] = packet_address(candidate);
	if (!fl_address_is_ipv4(&list->candidate[list->count]))
		list->flags |= FL_LIST_IPV6;
	list->count++;
	list->left++;
}

void stand_begin(struct packet *packet, const char *self, const struct fl_list *list)
{
	struct fl_address to = packet_address(self);
	struct fl_address from = packet_address(fl_address_is_ipv4(&to) ? RIG_MUX : RIG_MUX6);
	struct fl_list written = *list;
	fl_u8 gue[FL_LIST_MAX_LEN];

	if (!fl_address_is_ipv4(&to))
		written.flags |= FL_LIST_IPV6;
	packet_begin_outer(packet, &from, &to, FL_LIST_GUE_PORT);
	packet_add_bytes(packet, gue, fl_list_write(&written, gue));
}

static bool outer_is_ipv4(const struct packet *packet)
{
	return fl_load_be16(packet->data + 12) == ETHERTYPE_IP;
}

size_t stand_gue_at(const struct packet *packet)
{
	return outer_is_ipv4(packet) ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
}

static void state_read(struct module_state *state)
{
	if (module_get(&client, state)) {
		fprintf(stderr, "stand: %s\n", client.error);
		exit(1);
	}
}

static void drain(int fd)
{
	fl_u8 frame[PACKET_MAX];

	while (recv(fd, frame, sizeof(frame), 0) >= 0)
		;
}

static fl_u64 bumped(enum fl_counter counter)
{
	return after.counters[counter] - before.counters[counter];
}

/* How many exits there were, and the last of them. */
static fl_u64 exits(enum fl_counter *exit)
{
	fl_u64 by = 0;
	int counter;

	for (counter = 0; counter < FL_COUNTERS; counter++) {
		if (!fl_counter_is_exit((enum fl_counter)counter) || !bumped((enum fl_counter)counter))
			continue;
		by += bumped((enum fl_counter)counter);
		*exit = (enum fl_counter)counter;
	}
	return by;
}

static fl_u64 milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * 1000 + (fl_u64)now.tv_nsec / 1000000;
}

void stand_put(const struct packet *packet)
{
	struct pollfd has_room = {.fd = wire, .events = POLLOUT};
	struct packet sent = *packet;

	memcpy(sent.data, mac_of_rig0, sizeof(mac_of_rig0));
	while (send(wire, sent.data, sent.len, 0) != (ssize_t)packet->len)
		if (errno != EAGAIN || poll(&has_room, 1, DEADLINE_MILLISECONDS) != 1)
			give_up("send");
}

/* Waits for an exit since `before`; returns its counter, FL_COUNTERS unless it was exactly one, by one. */
static enum fl_counter exit_await(void)
{
	fl_u64 deadline = milliseconds() + DEADLINE_MILLISECONDS;
	enum fl_counter exit = FL_COUNTERS;
	fl_u64 by = 0;

	while (!by && milliseconds() < deadline) {
		state_read(&after);
		by = exits(&exit);
	}
	return by == 1 ? exit : FL_COUNTERS;
}

enum fl_counter stand_send(const struct packet *packet)
{
	drain(inside);
	drain(wire);
	state_read(&before);
	stand_put(packet);
	return exit_await();
}

enum fl_counter stand_send_by(void (*put)(const struct packet *packet, size_t inner_at), const struct packet *packet,
			      size_t inner_at)
{
	drain(inside);
	drain(wire);
	state_read(&before);
	put(packet, inner_at);
	return exit_await();
}

enum fl_counter stand_send_both(const struct packet *first, const struct packet *second)
{
	state_read(&before);
	stand_put(first);
	stand_put(second);
	return exit_await();
}

/* The next frame that a packet socket has seen come in, 0 after the deadline. */
static size_t frame_next(int fd, struct packet *packet)
{
	struct pollfd poll_in = {.fd = fd, .events = POLLIN};

	while (poll(&poll_in, 1, DEADLINE_MILLISECONDS) > 0) {
		struct sockaddr_ll from;
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(fd, packet->data, sizeof(packet->data), 0, (struct sockaddr *)&from, &from_len);

		if (len < 0 || from.sll_pkttype == PACKET_OUTGOING)
			continue;
		packet->len = (size_t)len;
		return packet->len;
	}
	return 0;
}

/* The server's counters since it was set up, for the report of a failed test. */
static void counters_print(void)
{
	int counter;

	state_read(&after);
	for (counter = 0; counter < FL_COUNTERS; counter++)
		if (after.counters[counter])
			print_message("# %s %llu\n", fl_counter_names[counter],
				      (unsigned long long)after.counters[counter]);
}

void stand_expect_delivered(const fl_u8 *inner, size_t len)
{
	struct packet frame;

	while (frame_next(inside, &frame)) {
		if (frame.len != FL_ETHERNET_LEN + len || memcmp(frame.data + FL_ETHERNET_LEN, inner, len))
			continue;
		assert_memory_equal(frame.data, mac_of_rig0, sizeof(mac_of_rig0));
		assert_int_equal(fl_load_be16(frame.data + 12), inner[0] >> 4 == 4 ? ETHERTYPE_IP : ETHERTYPE_IPV6);
		return;
	}
	counters_print();
	fail_msg("the inner packet did not come in at rig0 as it was sent");
}

void stand_expect_chained(struct packet *packet)
{
	while (frame_next(wire, packet)) {
		size_t gue_at = stand_gue_at(packet);

		if (packet->len > gue_at && fl_load_be16(packet->data + gue_at - 6) == FL_LIST_GUE_PORT)
			return;
	}
	fail_msg("no GUE packet went out at rig1");
}

void stand_expect_returned(struct packet *packet)
{
	while (frame_next(wire, packet)) {
		size_t gue_at = stand_gue_at(packet);

		if (packet->len > gue_at && fl_load_be16(packet->data + gue_at - 8) == FL_LIST_GUE_PORT)
			return;
	}
	fail_msg("no GUE packet went back at rig1");
}

void stand_expect_chained_ipip(struct packet *packet)
{
	while (frame_next(wire, packet))
		if (outer_is_ipv4(packet) && packet->data[PACKET_OUTER_AT + 9] == IPPROTO_IPIP)
			return;
	fail_msg("no IPIP packet went out at rig1");
}

void stand_expect_chained_srv6(struct packet *packet)
{
	while (frame_next(wire, packet))
		if (!outer_is_ipv4(packet) && packet->data[PACKET_OUTER_AT + 6] == IPPROTO_ROUTING)
			return;
	fail_msg("no packet with a routing header went out at rig1");
}

fl_u32 stand_flows(void)
{
	state_read(&after);
	return after.flows;
}

fl_u64 stand_counter(enum fl_counter counter)
{
	state_read(&after);
	return after.counters[counter];
}

fl_u64 stand_counter_await(enum fl_counter counter, fl_u64 value)
{
	fl_u64 deadline = milliseconds() + DEADLINE_MILLISECONDS;

	while (stand_counter(counter) < value && milliseconds() < deadline)
		;
	return after.counters[counter];
}

struct search {
	fl_u16 service;
	fl_u32 generation;
};

static void search_service(void *state, fl_u16 service, fl_u32 generation)
{
	struct search *search = state;

	if (service == search->service)
		search->generation = generation;
}

fl_u32 stand_generation(fl_u16 service)
{
	struct search search = {.service = service};

	assert_int_equal(module_services(&client, search_service, &search), 0);
	return search.generation;
}

void stand_clock_set(fl_u64 now)
{
	struct timespec time = {.tv_sec = (time_t)now};

	if (clock_settime(CLOCK_REALTIME, &time))
		give_up("clock_settime");
}

fl_u64 stand_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (fl_u64)time.tv_sec;
}
