// SPDX-License-Identifier: Apache-2.0
/*
 * The module's life, with packets at every moment: set up, changed, ended, unloaded, and its namespace deleted. What
 * cannot be seen from here (slab objects left over or written to after their end, warnings) the kernel's log shows,
 * which kernel-module/tests/run reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vectors.h"
#include "stand.h"

enum {
	RACE_PACKETS = 2000,
	SERVICES = 20,
	CHANGES = 30,
	REFUSALS = 8,
	RESTARTS = 10,
	RELOADS = 5,
	NAMESPACES = 8,
	AWAIT_MILLISECONDS = 30000,
};

static const char *const module_path = "/modules/fairlead.ko";

static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

static void nothing_set_up(void **state)
{
	const struct fl_load_setting setting = {0};
	static struct module_state module;
	struct module_load load;

	(void)state;
	module_detach(stand_client());
	assert_int_equal(module_get(stand_client(), &module), -ENOENT);
	assert_int_equal(module_detach(stand_client()), -ENOENT);
	assert_int_equal(module_restore_service(stand_client(), 1, 1), -ENOENT);
	assert_int_equal(module_set_load(stand_client(), 1, &setting), -ENOENT);
	assert_int_equal(module_get_load(stand_client(), 1, &load), -ENOENT);
}

/* Each is rejected and changes nothing. */
static void refused(int expected, const struct config *config, unsigned int peer_count)
{
	static struct module_state before, after;
	struct config changed = *config;
	int err;

	assert_int_equal(module_get(stand_client(), &before), 0);
	changed.peer_count = peer_count;
	err = stand_try_set(&changed);
	assert_int_equal(err, expected);
	assert_true(strlen(stand_client()->error) > 0);
	assert_int_equal(module_get(stand_client(), &after), 0);
	assert_in_range(after.quiet_left, 1, before.quiet_left);
	after.quiet_left = before.quiet_left;
	assert_memory_equal(&before, &after, sizeof(before));
}

static void bad_configurations(void **state)
{
	struct config good = rig_config(), bad;
	int taken;

	(void)state;
	good.program.quiet = FL_SERVER_QUIET_MAX;
	set_anew(&good);
	bad = good;
	bad.program.self = packet_address("10.1.0.250"); /* not ours */
	refused(-EADDRNOTAVAIL, &bad, bad.peer_count);
	bad.program.self = packet_address("0.0.0.0");
	refused(-EINVAL, &bad, bad.peer_count);
	bad.program.self = packet_address("2001:db8:1::22"); /* where IPv4 is expected */
	refused(-EINVAL, &bad, bad.peer_count);
	bad.program.self = packet_address("::");
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.program.port = 0;
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.program.chaining = 2;
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.program.quiet = FL_SERVER_QUIET_MAX + 1;
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.program.flood_rate = FL_SERVER_FLOOD_RATE_MAX + 1;
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.program.layout++;
	refused(-EINVAL, &bad, bad.peer_count);
	refused(-EINVAL, &good, 0);
	bad = good;
	bad.peers[0].prefix.prefix_len = 129;
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.peers[0].prefix.address.bytes[15] = 1; /* a host bit */
	refused(-EINVAL, &bad, bad.peer_count);
	bad = good;
	bad.peers[0].roles = 0;
	refused(-EINVAL, &bad, bad.peer_count);
	bad.peers[0].roles = FL_PEER_ANY + 1;
	refused(-EINVAL, &bad, bad.peer_count);

	/* The first address could be had, the second one's port is taken: neither is. */
	bad = rig_config_both();
	bad.program.port = 7000;
	taken = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(taken >= 0);
	{
		struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(7000)};

		rig_command("ip addr add " RIG_SELF6 " dev rig0 nodad");
		memcpy(&address.sin6_addr, bad.program.self6.bytes, 16);
		assert_int_equal(bind(taken, (struct sockaddr *)&address, sizeof(address)), 0);
	}
	refused(-EADDRINUSE, &bad, bad.peer_count);
	close(taken);
	rig_command("ip addr del " RIG_SELF6 " dev rig0");
}

static void configuration_is_shown(void **state)
{
	const struct fl_siphash_key key = {1, 2};
	struct config config = rig_config_both();
	static struct module_state module;

	(void)state;
	config.program.port = 7000;
	config.program.chaining = 0;
	rig_tag(&config, &key);
	set_anew(&config);
	assert_int_equal(module_get(stand_client(), &module), 0);
	assert_int_equal(module.config.port, 7000);
	assert_int_equal(module.config.chaining, 0);
	assert_int_equal(module.config.tagged, 1);
	assert_memory_equal(&module.config.self, &config.program.self, 16);
	assert_memory_equal(&module.config.self6, &config.program.self6, 16);
	assert_int_equal(module.peer_count, config.peer_count);
}

static void generations_survive(void **state)
{
	struct config config = rig_config();

	(void)state;
	set_anew(&config);
	assert_int_equal(module_restore_service(stand_client(), 3, 9), 0);
	assert_int_equal(module_restore_service(stand_client(), 3, 8), 0);
	config.program.port = 7000;
	stand_set(&config);
	assert_int_equal(stand_generation(3), 9);
	assert_int_equal(module_restore_service(stand_client(), 0, 1), 0);
	assert_int_equal(module_restore_service(stand_client(), 65535, UINT32_MAX), 0);
	assert_int_equal(stand_generation(0), 1);
	assert_int_equal(stand_generation(65535), UINT32_MAX);
	assert_int_equal(module_forget(stand_client(), 3), 0);
	assert_int_equal(stand_generation(3), 0);
	stand_detach();
	stand_set(&config);
	assert_int_equal(stand_generation(65535), 0);
}

static fl_u32 found;

static void count(void *state, fl_u16 service, fl_u32 generation)
{
	(void)state;
	found += generation == service + 1U;
}

/* The generations of all services, in many messages. */
static void all_services_are_shown(void **state)
{
	struct config config = rig_config();
	fl_u32 service;

	(void)state;
	set_anew(&config);
	for (service = 0; service < FL_SERVER_SERVICES; service++)
		assert_int_equal(module_restore_service(stand_client(), (fl_u16)service, service + 1), 0);
	found = 0;
	assert_int_equal(module_services(stand_client(), count, NULL), 0);
	assert_int_equal(found, FL_SERVER_SERVICES);
}

/* A process that sends all kinds of packets as fast as it can, until it is killed. */
static pid_t traffic_start(void)
{
	struct packet_tcp inner[3] = {rig_packets(RIG_IPV4)->syn, rig_packets(RIG_IPV4)->unknown,
				      rig_packets(RIG_IPV4)->established};
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	static const fl_u8 mac[6] = {0x02, 0, 0, 0, 0, 0x02};
	pid_t child = fork();
	fl_u32 n;
	int wire;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	address.sll_ifindex = (int)if_nametoindex("rig1");
	if (wire < 0 || bind(wire, (struct sockaddr *)&address, sizeof(address)))
		_exit(1);
	for (n = 1;; n++) {
		struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = (fl_u16)(n % 7), .generation = n};
		struct packet packet;

		if (n % 2)
			stand_list_add(&list, n % 3 ? "10.1.0.23" : "10.1.0.21");
		stand_begin(&packet, RIG_SELF, &list);
		memcpy(packet.data, mac, sizeof(mac));
		if (n % 11)
			packet_add_tcp(&packet, &inner[n % 3]);
		packet_finish_outer(&packet);
		if (send(wire, packet.data, packet.len, 0) < 0 && errno != ENOBUFS && errno != ENETDOWN)
			_exit(1);
	}
}

/* The process must have lived until now. */
static void traffic_stop(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

/* Waits until packets have been counted since the server was set up. */
static void await_packets(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; tries < AWAIT_MILLISECONDS; tries++) {
		if (stand_counter(FL_COUNTER_DELIVER_SYN) > 10)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("no packets came in");
}

static void changed_under_traffic(void **state)
{
	struct config config = rig_config();
	fl_u64 before;
	pid_t traffic;
	int i;

	(void)state;
	set_anew(&config);
	traffic = traffic_start();
	await_packets();
	for (i = 0; i < CHANGES; i++) {
		before = stand_counter(FL_COUNTER_DELIVER_SYN);
		config.program.quiet = (fl_u32)(i % 2);
		config.program.port = i % 3 == 1 ? 7000 : FL_LIST_GUE_PORT;
		config.program.chaining = i % 2;
		stand_set(&config);
		assert_true(stand_counter(FL_COUNTER_DELIVER_SYN) >= before);
	}
	traffic_stop(traffic);
	assert_true(stand_counter(FL_COUNTER_CHAIN) > 0);
}

/* A start that fails at its second socket, after the first has let packets in that are noted (mangle), leaves nothing. */
static void refused_under_traffic(void **state)
{
	struct config good = rig_config(), bad = rig_config_both(); /* the second address is not ours */
	static struct module_state module;
	pid_t traffic;
	int i;

	(void)state;
	set_anew(&good);
	stand_detach();
	bad.program.mangle = 1;
	traffic = traffic_start();
	rig_command("ip addr del " RIG_VIP4 "/32 dev lo"); /* so that it is mangled */
	for (i = 0; i < REFUSALS; i++) {
		assert_int_equal(stand_try_set(&bad), -EADDRNOTAVAIL);
		assert_int_equal(module_get(stand_client(), &module), -ENOENT);
	}
	traffic_stop(traffic);
	rig_command("ip addr add " RIG_VIP4 "/32 dev lo");
}

static void restarted_under_traffic(void **state)
{
	struct config config = rig_config();
	pid_t traffic = traffic_start();
	int i;

	(void)state;
	for (i = 0; i < RESTARTS; i++) {
		set_anew(&config);
		await_packets();
	}
	traffic_stop(traffic);
}

static void reloaded_under_traffic(void **state)
{
	struct config config = rig_config();
	pid_t traffic = traffic_start();
	int i, file;

	(void)state;
	for (i = 0; i < RELOADS; i++) {
		set_anew(&config);
		await_packets();
		assert_int_equal(syscall(SYS_delete_module, "fairlead", O_NONBLOCK), 0);
		file = open(module_path, O_RDONLY | O_CLOEXEC);
		assert_true(file >= 0);
		assert_int_equal(syscall(SYS_finit_module, file, "", 0), 0);
		close(file);
		genetlink_close(stand_client());
		assert_int_equal(module_open(stand_client()), 0);
	}
	traffic_stop(traffic);
}

/* In its own process: a namespace with a server and traffic, which ends with the process. */
static void namespace_run(void)
{
	struct config config = rig_config();
	pid_t traffic;

	stand_open();
	stand_set(&config);
	traffic = traffic_start();
	await_packets();
	(void)traffic; /* ends with us, as the kernel sees to */
	_exit(0);
}

static void namespaces_deleted_under_traffic(void **state)
{
	int i, status;

	(void)state;
	for (i = 0; i < NAMESPACES; i++) {
		pid_t child = fork();

		if (!child)
			namespace_run();
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* In its own process: sends packets with rising generations of all services, from this processor. */
static void race_run(int cpu, const struct packet_tcp *inner)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	static const fl_u8 mac[6] = {0x02, 0, 0, 0, 0, 0x02};
	int wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	cpu_set_t set;
	fl_u32 i;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	address.sll_ifindex = (int)if_nametoindex("rig1");
	if (sched_setaffinity(0, sizeof(set), &set) || wire < 0 ||
	    bind(wire, (struct sockaddr *)&address, sizeof(address)))
		_exit(1);
	for (i = 0; i < RACE_PACKETS; i++) {
		struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4,
				       .service = (fl_u16)(i % SERVICES),
				       .generation = 2 * (i / SERVICES + 1) + (fl_u32)cpu};
		struct packet packet;

		stand_list_add(&list, "10.1.0.23");
		stand_begin(&packet, RIG_SELF, &list);
		memcpy(packet.data, mac, sizeof(mac));
		packet_add_tcp(&packet, inner);
		packet_finish_outer(&packet);
		if (send(wire, packet.data, packet.len, 0) < 0)
			_exit(1);
	}
	_exit(0);
}

/* Two processors learn generations of the same services at once: the highest is kept, regardless of the order. */
static void two_processors_learn(void **state)
{
	const struct packet_tcp *inner = &rig_packets(RIG_IPV4)->unknown;
	struct config config = rig_config();
	pid_t children[2];
	int cpu, status;
	fl_u16 service;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		fail_msg("the machine has one processor: nothing races");
	set_anew(&config);
	for (cpu = 0; cpu < 2; cpu++) {
		children[cpu] = fork();
		if (!children[cpu])
			race_run(cpu, inner);
	}
	for (cpu = 0; cpu < 2; cpu++) {
		assert_int_equal(waitpid(children[cpu], &status, 0), children[cpu]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(stand_counter_await(FL_COUNTER_CHAIN, 2 * RACE_PACKETS), 2 * RACE_PACKETS);
	for (service = 0; service < SERVICES; service++)
		assert_int_equal(stand_generation(service), 2 * RACE_PACKETS / SERVICES + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_set_up),
	    cmocka_unit_test(bad_configurations),
	    cmocka_unit_test(configuration_is_shown),
	    cmocka_unit_test(generations_survive),
	    cmocka_unit_test(all_services_are_shown),
	    cmocka_unit_test(two_processors_learn),
	    cmocka_unit_test(refused_under_traffic),
	    cmocka_unit_test(changed_under_traffic),
	    cmocka_unit_test(restarted_under_traffic),
	    cmocka_unit_test(reloaded_under_traffic),
	    cmocka_unit_test(namespaces_deleted_under_traffic),
	};

	stand_open();
	return cmocka_run_group_tests_name("life of the module", tests, NULL, NULL);
}
