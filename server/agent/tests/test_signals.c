// SPDX-License-Identifier: Apache-2.0
/*
 * Signals of real connections in a network namespace of the test's own, by the programs for the kernel. It also runs in
 * the virtual machines of kernel-module/tests/run, on older kernels, whose tracepoints tell other things.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/signals.h"
#include "clock.h"

#include "vectors.h"

enum {
	PORT = 80,
	OTHER_PORT = 81,
	DEADLINE_SECONDS = 30,
};

#define SERVICE(name, id, vips)                                                                                        \
	"{\"name\": \"" name "\", \"id\": " id ", \"vips\": [" vips "], \"ports\": [{\"protocol\": \"tcp\", "          \
	"\"port\": 80}], \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": \"000102030405060708090a0b0c0d0e0f\", " \
	"\"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": \"10.2.0.7\"}]}"

static const char document[] = "{\"format\": 1, \"version\": \"1\", \"services\": [" SERVICE(
    "api", "2", "\"127.0.0.2\"") ", " SERVICE("web", "1", "\"127.0.0.1\", \"::1\"") "]}";

static struct census *census;
static struct signals *signals;

struct end {
	int family;
	struct sockaddr_storage address;
	socklen_t len;
};

static struct end end_of(const char *text, fl_u16 port)
{
	struct end end = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
	struct sockaddr_in *ipv4 = (void *)&end.address;
	struct sockaddr_in6 *ipv6 = (void *)&end.address;

	end.address.ss_family = (sa_family_t)end.family;
	end.len = end.family == AF_INET ? sizeof(*ipv4) : sizeof(*ipv6);
	if (end.family == AF_INET)
		ipv4->sin_port = htons(port);
	else
		ipv6->sin6_port = htons(port);
	inet_pton(end.family, text, end.family == AF_INET ? (void *)&ipv4->sin_addr : (void *)&ipv6->sin6_addr);
	return end;
}

static int listen_at(const struct end *end)
{
	int fd = socket(end->family, SOCK_STREAM, 0), one = 1;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (const void *)&end->address, end->len), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static int connect_to(const struct end *end)
{
	int fd = socket(end->family, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const void *)&end->address, end->len), 0);
	return fd;
}

static void refuse(const struct end *end)
{
	int fd = socket(end->family, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const void *)&end->address, end->len), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
}

static void reset(int fd)
{
	struct linger linger = {.l_onoff = 1};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	close(fd);
}

static fl_u64 web(enum agent_signal signal)
{
	return census->tallies[1].signals.counts[signal];
}

/* Until web has as many as expected; fails if there are others. */
static void until(enum agent_signal signal, fl_u64 expected)
{
	fl_u64 end_ns = clock_ns(CLOCK_MONOTONIC) + DEADLINE_SECONDS * SECOND_NS;

	while (web(signal) < expected && clock_ns(CLOCK_MONOTONIC) < end_ns)
		assert_int_equal(signals_read(signals, census), 0);
	assert_int_equal(web(signal), expected);
	for (int other = 0; other < AGENT_SIGNALS; other++)
		assert_int_equal(census->tallies[0].signals.counts[other], 0); /* api's */
}

static void refusals_and_resets(void **state)
{
	struct end end = end_of(*state, PORT), other = end_of(*state, OTHER_PORT);
	fl_u64 refused = web(SIGNAL_REFUSED), sent = web(SIGNAL_RESETS_SENT), received = web(SIGNAL_RESETS_RECEIVED);
	fl_u64 samples = web(SIGNAL_RTT_SAMPLES), micros = web(SIGNAL_RTT_MICROSECONDS);
	int listener, client, server;
	char byte;

	refuse(&other);
	refuse(&end);
	refuse(&end);
	until(SIGNAL_REFUSED, refused + 2);
	listener = listen_at(&end);
	client = connect_to(&end);
	server = accept(listener, NULL, NULL);
	reset(server);
	assert_int_equal(recv(client, &byte, 1, 0), -1);
	close(client);
	until(SIGNAL_RESETS_SENT, sent + 1);
	client = connect_to(&end);
	server = accept(listener, NULL, NULL);
	reset(client);
	assert_int_equal(recv(server, &byte, 1, 0), -1);
	close(server);
	until(SIGNAL_RESETS_RECEIVED, received + 1);
	until(SIGNAL_RTT_SAMPLES, samples + 2);
	until(SIGNAL_REFUSED, refused + 2);
	until(SIGNAL_RESETS_SENT, sent + 1);
	assert_true(web(SIGNAL_RTT_MICROSECONDS) > micros);
	close(listener);
}

/* The client's socket loses what the server sends, for a time. What is sent again is known while the connection is open. */
static void retransmissions(void **state)
{
	struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog lossy = {1, none};
	struct end end = end_of(*state, PORT);
	fl_u64 segments = web(SIGNAL_SEGMENTS), again = web(SIGNAL_RETRANSMITTED), samples = web(SIGNAL_RTT_SAMPLES);
	fl_u64 end_ns = clock_ns(CLOCK_MONOTONIC) + DEADLINE_SECONDS * SECOND_NS;
	int listener = listen_at(&end), client = connect_to(&end), server = accept(listener, NULL, NULL);
	char byte;

	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_ATTACH_FILTER, &lossy, sizeof(lossy)), 0);
	assert_int_equal(send(server, "x", 1, 0), 1);
	while (web(SIGNAL_RETRANSMITTED) < again + 2 && clock_ns(CLOCK_MONOTONIC) < end_ns)
		assert_int_equal(signals_read(signals, census), 0);
	assert_true(web(SIGNAL_RETRANSMITTED) >= again + 2);
	/* the SYN's answer is not the socket's own, the byte is, and what was sent again */
	assert_true(web(SIGNAL_SEGMENTS) - segments > web(SIGNAL_RETRANSMITTED) - again);
	assert_true(web(SIGNAL_SEGMENTS) - segments <= web(SIGNAL_RETRANSMITTED) - again + 2);
	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_DETACH_FILTER, &lossy, sizeof(lossy)), 0);
	assert_int_equal(recv(client, &byte, 1, 0), 1);
	close(client);
	close(server);
	close(listener);
	until(SIGNAL_RTT_SAMPLES, samples + 1);
}

static void lo_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET) || (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 || ioctl(fd, SIOCSIFFLAGS, &request)) {
		fprintf(stderr, "test_signals: needs root, for a network namespace of its own: %s\n", strerror(errno));
		exit(1);
	}
	close(fd);
}

int main(void)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	static const char *const addresses[] = {"127.0.0.1", "::1"};
	struct vectors_tests tests = {NULL, 0};
	struct fl_siphash_key seed = {5, 6};
	const char *why;
	struct events *events;
	int failed;

	lo_up();
	census = census_new(&seed);
	events = events_open(&why);
	signals = events ? signals_open(events, &why) : NULL;
	if (!census || !signals || signals_known(signals) != (1U << AGENT_SIGNALS) - 1) {
		fprintf(stderr, "test_signals: not all signals are counted: %s\n", signals ? "of tracepoints" : why);
		return 1;
	}
	assert_true(census_serve(census, services_read(document, strlen(document), &plain)));
	assert_int_equal(events_serve(events, census->services), 0);
	for (int i = 0; i < 2; i++) {
		vectors_add_plain(&tests, i ? "refusals and resets, IPv6" : "refusals and resets, IPv4",
				  refusals_and_resets, (void *)addresses[i]);
		vectors_add_plain(&tests, i ? "retransmissions, IPv6" : "retransmissions, IPv4", retransmissions,
				  (void *)addresses[i]);
	}
	failed = vectors_run("signals", &tests);
	signals_close(signals);
	events_close(events);
	census_free(census);
	return failed;
}
