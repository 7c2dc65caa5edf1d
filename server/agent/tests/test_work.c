// SPDX-License-Identifier: Apache-2.0
/*
 * Connections in work, of real sockets in a network namespace of the test's own: which are counted, by the program and
 * by sock_diag. A connection's life is a word, a letter a step:
 *
 *	q Q	the client sends a request, short or of 200 KB
 *	r	the server reads what there is
 *	a A	the server reads all of the request and answers, shortly or by 200 KB
 *	c	the client reads all that the server has sent
 *	t	the kernel's clock goes on by a tick
 *	f	the client sends no more
 *
 * It is in work if a request came after the last answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/work.h"

#include "vectors.h"

enum {
	PORT = 80,
	SHORT = 100,
	LONG = 200000,
	DEADLINE_MS = 10000,
	WORDS = 40,
	LETTERS = 30,
};

static const char document[] =
    "{\"format\": 1, \"version\": \"1\", \"services\": [{\"name\": \"web\", \"id\": 1, \"vips\": [\"127.0.0.1\", "
    "\"::1\"], \"ports\": [{\"protocol\": \"tcp\", \"port\": 80}], \"buckets\": 256, \"hash\": \"siphash\", "
    "\"hashKey\": \"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"backends\": [{\"id\": 7, "
    "\"address\": \"10.2.0.7\"}]}, {\"name\": \"api\", \"id\": 2, \"vips\": [\"127.0.0.2\"], \"ports\": "
    "[{\"protocol\": \"tcp\", \"port\": 80}], \"buckets\": 256, \"hash\": \"siphash\", \"hashKey\": "
    "\"000102030405060708090a0b0c0d0e0f\", \"affinity\": \"connection\", \"backends\": [{\"id\": 7, \"address\": "
    "\"10.2.0.7\"}]}]}";

struct pair {
	int client, server;
	size_t asked, answered; /* bytes that the other end has not read yet */
	bool in_work;
};

static struct services *services;
static struct work *program, *diag;

static fl_u64 ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (fl_u64)now.tv_sec * 1000 + (fl_u64)now.tv_nsec / 1000000;
}

/* Until the kernel's clock has gone on by a whole tick. */
static void tick(void)
{
	struct timespec begun, now;

	for (int i = 0; i < 2; i++) {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &begun);
		do
			clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		while (now.tv_sec == begun.tv_sec && now.tv_nsec == begun.tv_nsec);
	}
}

static int listen_at(int family, const char *address)
{
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	int fd = socket(family, SOCK_STREAM, 0), one = 1;
	bool is_ipv4 = family == AF_INET;

	inet_pton(family, address, is_ipv4 ? (void *)&ipv4.sin_addr : (void *)&ipv6.sin6_addr);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, is_ipv4 ? (void *)&ipv4 : (void *)&ipv6, is_ipv4 ? sizeof(ipv4) : sizeof(ipv6)), 0);
	assert_int_equal(listen(fd, 1024), 0);
	return fd;
}

static struct pair pair_open(int listener, bool accepted)
{
	struct sockaddr_storage address;
	struct pair pair = {.server = -1};
	socklen_t len = sizeof(address);

	assert_int_equal(getsockname(listener, (void *)&address, &len), 0);
	pair.client = socket(address.ss_family, SOCK_STREAM, 0);
	assert_int_equal(connect(pair.client, (void *)&address, len), 0);
	if (accepted)
		pair.server = accept(listener, NULL, NULL);
	return pair;
}

static void pair_close(struct pair *pair)
{
	close(pair->client);
	if (pair->server >= 0)
		close(pair->server);
}

static size_t drain(int fd)
{
	char bytes[65536];
	size_t len = 0;
	ssize_t got;

	while ((got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		len += (size_t)got;
	return len;
}

/* Both ends are of this process, so one that writes much needs the other to read. Returns what that one read. */
static size_t send_to(int from, int to, size_t len)
{
	static const char bytes[65536];
	size_t sent = 0, got = 0;

	while (sent < len) {
		ssize_t put = send(from, bytes, len - sent < sizeof(bytes) ? len - sent : sizeof(bytes), MSG_DONTWAIT);

		if (put > 0)
			sent += (size_t)put;
		else
			got += drain(to);
	}
	return got;
}

static void step(struct pair *pair, char letter)
{
	size_t len = letter == 'Q' || letter == 'A' ? LONG : SHORT;

	switch (letter) {
	case 'q':
	case 'Q':
		pair->asked += len;
		pair->asked -= send_to(pair->client, pair->server, len);
		pair->in_work = true;
		break;
	case 'r':
		pair->asked -= drain(pair->server);
		break;
	case 'a':
	case 'A':
		while (pair->asked)
			pair->asked -= drain(pair->server);
		pair->answered += len;
		pair->answered -= send_to(pair->server, pair->client, len);
		pair->in_work = false;
		break;
	case 'c':
		while (pair->answered)
			pair->answered -= drain(pair->client);
		break;
	case 't':
		tick();
		break;
	default:
		assert_int_equal(letter, 'f');
		assert_int_equal(shutdown(pair->client, SHUT_WR), 0);
	}
}

/* Until so many connections of web are in work; what is counted on loopback changes with what was sent, or not at all. */
static void expect(struct work *work, fl_u32 expected, const char *what)
{
	fl_u64 until = ms(CLOCK_MONOTONIC) + DEADLINE_MS;
	fl_u32 counts[2] = {0, 0};

	do
		assert_int_equal(work_read(work, services, 1, counts), 0);
	while (counts[0] != expected && ms(CLOCK_MONOTONIC) < until);
	if (counts[0] != expected)
		fail_msg("%s: %u in work, expected %u", what, counts[0], expected);
	assert_int_equal(counts[1], 0);
}

static const struct row {
	const char *word;
	fl_u32 in_work;
	bool program_only; /* sock_diag does not tell */
} rows[] = {
    {"", 0, false},       {"q", 1, false},      {"qr", 1, false},     {"Qr", 1, false},    {"qrq", 1, false},
    {"qa", 0, false},     {"qac", 0, false},    {"qta", 0, false},    {"qtac", 0, false},  {"QA", 0, false},
    {"QAc", 0, false},    {"qactq", 1, false},  {"qtactq", 1, false}, {"QActQ", 1, false}, {"qacq", 1, true},
    {"qacqr", 1, true},   {"qacqac", 0, false}, {"qacqacq", 1, true}, {"QAcQ", 1, true},   {"QAcQr", 1, true},
    {"f", 0, false},      {"qf", 1, false},     {"qrf", 1, false},    {"qaf", 0, false},   {"qacf", 0, false},
    {"qactqf", 1, false}, {"qata", 0, false},   {"qatatq", 1, false}, {"qact", 0, false},
};

static void word(void **state)
{
	const struct row *row = *state;
	static const char *const addresses[] = {"127.0.0.1", "::1"};

	for (int i = 0; i < 2; i++) {
		int listener = listen_at(i ? AF_INET6 : AF_INET, addresses[i]);
		struct pair pair = pair_open(listener, true);

		for (const char *at = row->word; *at; at++)
			step(&pair, *at);
		assert_int_equal(pair.in_work, row->in_work);
		expect(program, row->in_work, "by the program");
		if (!row->program_only)
			expect(diag, row->in_work, "by sock_diag");
		pair_close(&pair);
		close(listener);
	}
}

/* Work that waits to be accepted counts, a connection that has sent nothing does not; nor do other services and ports. */
static void waiting(void **state)
{
	int web = listen_at(AF_INET, "127.0.0.1"), api = listen_at(AF_INET, "127.0.0.2");
	struct pair pairs[] = {pair_open(web, false), pair_open(web, false), pair_open(api, true)};
	fl_u32 counts[2];

	(void)state;
	send_to(pairs[0].client, -1, SHORT);
	expect(program, 1, "by the program");
	expect(diag, 1, "by sock_diag");
	step(&pairs[2], 'q');
	do
		assert_int_equal(work_read(program, services, 1, counts), 0);
	while (!counts[1]);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	for (int i = 0; i < 3; i++)
		pair_close(&pairs[i]);
	expect(program, 1, "while it waits, though its client is gone");
	close(web);
	close(api);
	expect(program, 0, "after the end");
}

/* What was open when the services were read counts as well. */
static void open_before(void **state)
{
	static const struct services none = {.version = "0"};
	int listener = listen_at(AF_INET, "127.0.0.1");
	struct pair pairs[2];

	(void)state;
	work_serve(program, &none);
	for (int i = 0; i < 2; i++)
		pairs[i] = pair_open(listener, true);
	step(&pairs[0], 'q');
	work_serve(program, services);
	expect(program, 1, "opened before");
	step(&pairs[1], 'q');
	expect(program, 2, "the second one");
	for (int i = 0; i < 2; i++)
		pair_close(&pairs[i]);
	expect(program, 0, "after the end");
	close(listener);
}

/* What may come next: a client asks again when it has the answer. */
static char draw(const struct pair *pair)
{
	if (rand() % 4 == 0)
		return "rrrrt"[rand() % 5];
	if (pair->in_work)
		return "qQaaaaA"[rand() % 7];
	return pair->answered ? 'c' : "qqqQ"[rand() % 4];
}

/* Random words, by one seed, after each letter. Connections before are still there. */
static void random_words(void **state)
{
	int listener = listen_at(AF_INET, "127.0.0.1");
	struct pair pairs[WORDS];
	char word[LETTERS + 1] = "";
	fl_u32 in_work = 0;

	(void)state;
	srand(3);
	print_message("# seed 3\n");
	for (int i = 0; i < WORDS; i++) {
		pairs[i] = pair_open(listener, true);
		for (int n = 0; n < LETTERS; n++) {
			word[n] = draw(&pairs[i]);
			word[n + 1] = '\0';
			step(&pairs[i], word[n]);
			expect(program, in_work + pairs[i].in_work, word);
		}
		in_work += pairs[i].in_work;
	}
	assert_true(in_work > WORDS / 4 && in_work < WORDS * 3 / 4);
	for (int i = 0; i < WORDS; i++)
		pair_close(&pairs[i]);
	close(listener);
}

/* Without probes for lost tails: one for nothing, on a machine without time, looks as work.bpf.c says. */
static void no_probes(void)
{
	int fd = open("/proc/sys/net/ipv4/tcp_early_retrans", O_WRONLY);

	if (fd < 0 || write(fd, "0", 1) != 1) {
		fprintf(stderr, "test_work: tcp_early_retrans cannot be set: %s\n", strerror(errno));
		exit(1);
	}
	close(fd);
}

static void lo_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET) || (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 || ioctl(fd, SIOCSIFFLAGS, &request)) {
		fprintf(stderr, "test_work: needs root, for a network namespace of its own: %s\n", strerror(errno));
		exit(1);
	}
	close(fd);
}

int main(void)
{
	static const struct services_mangle plain = {
	    false, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 7}}, {{0}}};
	struct vectors_tests tests = {NULL, 0};
	int failed;

	lo_up();
	no_probes();
	services = services_read(document, strlen(document), &plain);
	program = work_open(true);
	diag = work_open(false);
	if (!services || !program || !diag || work_why(program)) {
		fprintf(stderr, "test_work: connections in work cannot be listed by a program: %s\n",
			program && work_why(program) ? work_why(program) : "no memory");
		return 1;
	}
	work_serve(program, services);
	work_serve(diag, services);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].word, word, (void *)&rows[i]);
	vectors_add_plain(&tests, "work that waits to be accepted", waiting, NULL);
	vectors_add_plain(&tests, "what was open before", open_before, NULL);
	vectors_add_plain(&tests, "random words", random_words, NULL);
	failed = vectors_run("work", &tests);
	work_close(program);
	work_close(diag);
	services_free(services);
	return failed;
}
