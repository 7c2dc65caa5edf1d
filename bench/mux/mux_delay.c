/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a forwarder's port, for bench/run delay: sends 64-byte packets over a memif and measures how long
 * each is away.
 *
 *	mux_delay --socket PATH --rate PPS|0 --windows N --seconds S --flows N --seed N [--steady 0|1]
 *
 *	here, one core: send, receive  ==== memif, shared memory ====  the forwarder, another core
 *
 * Packets leave at random times (exponential gaps; equal ones if steady) at the rate, regardless of what returns, with the time stamp counter
 * of the moment when they were given to the port: a delay of this process does not count as the forwarder's. Rate 0
 * keeps WINDOW packets in flight instead, which is as fast as the slower end allows. Prints {"ready": true} when the
 * port is open, begins once the forwarder is there, and prints one JSON object for each window of so many seconds. A
 * tenth of a window before it is not counted. Windows are short, so that other load does not touch most of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/types.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "image.h"

enum {
	BURST = 32,
	FRAME = 64,
	AT_STAMP = 38, /* TCP's two numbers */
	WINDOW = 512,
	RING = 2048,
	BUFFERS = 16383,
	CYCLES_SHIFT = 5, /* of a bucket of the histogram */
	HISTOGRAM = 1 << 20,
	CONNECT_S = 20,
	SILENCE_MS = 50, /* a packet that is away for longer is lost */
};

struct delay {
	const char *socket;
	double rate, seconds;
	unsigned windows, steady;
	uint32_t flows;
	struct chance chance;
	uint16_t port;
	struct rte_mempool *pool;
	uint8_t *frames;
	uint64_t sent, received, counted, refused;
	uint64_t began, counted_from; /* cycles */
	uint64_t ended;
	uint32_t *histogram;
};

static void die(const char *text)
{
	fprintf(stderr, "mux_delay: %s\n", text);
	exit(1);
}

static void parse(struct delay *d, int argc, char **argv)
{
	*d = (struct delay){.flows = 4096, .seconds = 1, .windows = 1, .chance = {1}};
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--socket"))
			d->socket = argv[i + 1];
		else if (!strcmp(argv[i], "--rate"))
			d->rate = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--windows"))
			d->windows = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seconds"))
			d->seconds = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--steady"))
			d->steady = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--flows"))
			d->flows = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seed"))
			d->chance.state = strtoul(argv[i + 1], NULL, 10);
		else
			die("allowed: --socket, --rate, --windows, --seconds, --flows, --seed, --steady");
	}
	if (!(argc & 1) || !d->socket || d->rate < 0 || d->seconds <= 0 || !d->flows || !d->chance.state)
		die("usage: --socket PATH --rate PPS|0 --windows N --seconds S --flows N --seed N, the last three "
		    "above 0");
}

static void open_port(struct delay *d)
{
	char arguments[256];
	const char *eal[] = {"mux_delay",   "--no-huge",      "-m",
			     "256",         "--no-pci",       "--no-telemetry",
			     "--no-shconf", "--iova-mode=va", "--log-level=error"};
	struct rte_eth_conf conf = {0};

	snprintf(arguments, sizeof(arguments), "net_memif0,role=server,id=0,rsize=11,socket-abstract=no,socket=%s",
		 d->socket);
	if (rte_eal_init(sizeof(eal) / sizeof(eal[0]), (char **)eal) < 0 || rte_dev_probe(arguments) ||
	    rte_eth_dev_get_port_by_name("net_memif0", &d->port))
		die("the memif can't be opened");
	d->pool = rte_pktmbuf_pool_create("packets", BUFFERS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!d->pool || rte_eth_dev_configure(d->port, 1, 1, &conf) ||
	    rte_eth_rx_queue_setup(d->port, 0, 2048, SOCKET_ID_ANY, NULL, d->pool) ||
	    rte_eth_tx_queue_setup(d->port, 0, 2048, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(d->port))
		die("the memif can't be started");
	puts("{\"ready\": true}");
	fflush(stdout);
}

/* TCP ACKs of the flows to 10.99.0.1:80 and 02:00:00:00:00:01. */
static void make_frames(struct delay *d)
{
	static const uint8_t head[FRAME] = {2,    0, 0, 0,  0, 1, 2,  0, 0,  0, 0, 2, 8, 0, /* Ethernet */
					    0x45, 0, 0, 50, 0, 0, 64, 0, 64, 6, 0, 0, 0, 0, 0, 0,    10,
					    99,   0, 1, 0,  0, 0, 80, 0, 0,  0, 0, 0, 0, 0, 0, 0x50, 0x10};

	d->frames = calloc(d->flows, FRAME);
	d->histogram = calloc(HISTOGRAM, sizeof(*d->histogram));
	if (!d->frames || !d->histogram)
		die("no memory");
	for (uint32_t i = 0; i < d->flows; i++) {
		uint8_t *frame = d->frames + (size_t)i * FRAME;
		uint32_t sum = 0;

		memcpy(frame, head, FRAME);
		fl_store_be32(frame + 26, 0x0b000000U + chance_below(&d->chance, 1 << 24));
		fl_store_be16(frame + 34, (uint16_t)(1024 + chance_below(&d->chance, 60000)));
		for (int at = 14; at < 34; at += 2)
			sum += fl_load_be16(frame + at);
		sum = (sum & 0xffff) + (sum >> 16);
		fl_store_be16(frame + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	}
}

static void send_some(struct delay *d, uint16_t count)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t sent;

	if (rte_pktmbuf_alloc_bulk(d->pool, mbufs, count)) {
		d->refused += count;
		return;
	}
	for (uint16_t i = 0; i < count; i++) {
		uint8_t *out = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		uint64_t now = rte_rdtsc();

		memcpy(out, d->frames + (d->sent + i) % d->flows * FRAME, FRAME);
		memcpy(out + AT_STAMP, &now, sizeof(now));
		mbufs[i]->data_len = FRAME;
		mbufs[i]->pkt_len = FRAME;
	}
	sent = rte_eth_tx_burst(d->port, 0, mbufs, count);
	d->sent += sent;
	d->refused += count - sent;
	rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
}

static uint16_t receive_some(struct delay *d)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t count = rte_eth_rx_burst(d->port, 0, mbufs, BURST);
	uint64_t now = rte_rdtsc();

	for (uint16_t i = 0; i < count; i++) {
		uint32_t at = AT_STAMP + mbufs[i]->pkt_len - FRAME; /* behind the header of a mux */
		uint64_t stamp, bucket;

		memcpy(&stamp, rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, at), sizeof(stamp));
		if (stamp < d->began)
			continue; /* of a window before, which has counted it as lost */
		d->received++;
		if (!d->ended || stamp < d->counted_from || stamp > d->ended)
			continue;
		bucket = (now - stamp) >> CYCLES_SHIFT;
		d->histogram[bucket < HISTOGRAM ? bucket : HISTOGRAM - 1]++;
		d->counted++;
	}
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

/* All that is there, so that no packet waits for this process behind others that have returned. */
static void receive_all(struct delay *d)
{
	for (unsigned i = 0; i < RING / BURST && receive_some(d) == BURST; i++)
		;
}

/* Waits until the forwarder returns packets; those that it dropped before do not count. */
static void await_forwarder(struct delay *d)
{
	uint64_t hz = rte_get_tsc_hz(), end = rte_rdtsc() + CONNECT_S * hz, quiet;

	while (!d->received) {
		if (rte_rdtsc() > end)
			die("no forwarder has connected");
		send_some(d, 1);
		rte_delay_us_sleep(1000);
		receive_some(d);
	}
	quiet = rte_rdtsc() + hz / 10;
	while (rte_rdtsc() < quiet)
		receive_some(d);
}

/* Cycles to the next packet. */
static double gap(struct delay *d, double mean)
{
	return -mean * log(((double)(chance_next(&d->chance) >> 11) + 1) / 9007199254740993.0);
}

static void forget(struct delay *d)
{
	d->sent = d->received = d->counted = d->refused = 0;
	memset(d->histogram, 0, HISTOGRAM * sizeof(*d->histogram));
}

static void run(struct delay *d)
{
	double hz = (double)rte_get_tsc_hz(), mean = d->rate > 0 ? hz / d->rate : 0;
	uint64_t now = rte_rdtsc(), silent;
	double due = (double)now + (mean > 0 ? gap(d, mean) : 0);

	d->began = now;
	d->counted_from = now + (uint64_t)(d->seconds * hz / 10);
	d->ended = d->counted_from + (uint64_t)(d->seconds * hz);
	while ((now = rte_rdtsc()) < d->ended) {
		uint16_t count = 0;

		if (mean > 0)
			for (; count < BURST && due <= (double)now; count++)
				due += d->steady ? mean : gap(d, mean);
		else if (d->sent - d->received < WINDOW)
			count = BURST;
		if (count)
			send_some(d, count);
		receive_all(d);
	}
	silent = now;
	for (uint64_t before = d->received; d->received < d->sent && now < silent + (uint64_t)(SILENCE_MS * hz / 1000);
	     before = d->received) {
		receive_some(d);
		now = rte_rdtsc();
		if (d->received != before)
			silent = now;
	}
}

/* Nanoseconds below which a part of the packets was. */
static double percentile(const struct delay *d, double part)
{
	uint64_t below = 0, wanted = (uint64_t)ceil(part * (double)d->counted);
	uint32_t bucket = 0;

	while (bucket < HISTOGRAM - 1 && (below += d->histogram[bucket]) < wanted)
		bucket++;
	return (double)(((uint64_t)bucket + 1) << CYCLES_SHIFT) * 1e9 / (double)rte_get_tsc_hz();
}

static void tell(const struct delay *d)
{
	printf("{\"pps\": %.0f, \"sent\": %lu, \"lost\": %lu, \"refused\": %lu, ", (double)d->counted / d->seconds,
	       (unsigned long)d->sent, (unsigned long)(d->sent - d->received), (unsigned long)d->refused);
	printf("\"p50\": %.0f, \"p99\": %.0f, \"p999\": %.0f}\n", percentile(d, 0.5), percentile(d, 0.99),
	       percentile(d, 0.999));
}

int main(int argc, char **argv)
{
	static struct delay d;

	parse(&d, argc, argv);
	open_port(&d);
	make_frames(&d);
	await_forwarder(&d);
	for (unsigned i = 0; i < d.windows; i++) {
		forget(&d);
		run(&d);
		tell(&d);
	}
	rte_eth_dev_stop(d.port);
	rte_eth_dev_close(d.port);
	rte_eal_cleanup();
	return 0;
}
