// SPDX-License-Identifier: Apache-2.0
/*
 * Who may use the module, and whose memory it uses. A user may have all capabilities in namespaces of their own, which is
 * no reason to give them kernel memory; root in another network namespace is root.
 */
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "form.h"
#include "vectors.h"
#include "stand.h"

#define CGROUPS "/tmp/cgroups"
#define CGROUP  CGROUPS "/server"

enum {
	UNPRIVILEGED = 65534,
	SERVICE = 1,
	TRIES = 300, /* of a tenth of a second */
	LOADS = 500,
	LOAD_BYTES = sizeof(struct fl_load_setting) + sizeof(struct fl_load_state),
	GENERATIONS_BYTES = FL_SERVER_SERVICES * sizeof(fl_u32),
};

static void service_ignore(void *state, fl_u16 service, fl_u32 generation)
{
	(void)state;
	(void)service;
	(void)generation;
}

/* A server of 127.0.0.1, which every network namespace has once lo is up. */
static struct config config_of_lo(void)
{
	struct config config = rig_config();

	config.program.self = packet_address("127.0.0.1");
	return config;
}

static int try_set(struct genetlink *client)
{
	struct config config = config_of_lo();

	return form_module_set(client, &config);
}

static int try_get(struct genetlink *client)
{
	static struct module_state state;

	return module_get(client, &state);
}

static int try_services(struct genetlink *client)
{
	return module_services(client, service_ignore, NULL);
}

static int try_restore_service(struct genetlink *client)
{
	return module_restore_service(client, SERVICE, 1);
}

static int try_set_load(struct genetlink *client)
{
	const struct fl_load_setting setting = {0};

	return module_set_load(client, SERVICE, &setting);
}

static int try_get_load(struct genetlink *client)
{
	struct module_load load;

	return module_get_load(client, SERVICE, &load);
}

static int try_forget(struct genetlink *client)
{
	return module_forget(client, SERVICE);
}

/* Each command, in an order in which root may do all. */
static const struct {
	const char *name;
	int (*run)(struct genetlink *client);
} commands[] = {
    {"SET", try_set},
    {"GET", try_get},
    {"GET_SERVICES", try_services},
    {"RESTORE", try_restore_service},
    {"SET_LOAD", try_set_load},
    {"GET_LOAD", try_get_load},
    {"FORGET", try_forget},
    {"DETACH", module_detach},
};

/* In a child. Returns how many commands did not end with that error, and says which. */
static int commands_run(int expected)
{
	struct genetlink client;
	int wrong = 0;
	size_t i;

	if (module_open(&client)) {
		print_message("# %s\n", client.error);
		return 1;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		int err = commands[i].run(&client);

		if (err == expected)
			continue;
		print_message("# %s: %s\n", commands[i].name, err ? client.error : "is allowed");
		wrong++;
	}
	genetlink_close(&client);
	return wrong;
}

/* In a child: its own network namespace, with lo up. */
static bool namespace_enter(int flags)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, err;

	if (unshare(CLONE_NEWNET | flags))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return !err;
}

static int as_nobody(void)
{
	return setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) ? 1 : commands_run(-EPERM);
}

static int as_nobody_in_namespaces(void)
{
	if (setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) || !namespace_enter(CLONE_NEWUSER)) {
		print_message("# no namespaces: %s\n", strerror(errno));
		return 1;
	}
	return commands_run(-EPERM);
}

static int as_root_in_user_namespace(void)
{
	return namespace_enter(CLONE_NEWUSER) ? commands_run(-EPERM) : 1;
}

static int as_root_in_network_namespace(void)
{
	return namespace_enter(0) ? commands_run(0) : 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} users[] = {
    {"a user without privileges may do nothing", as_nobody},
    {"nor in namespaces of their own", as_nobody_in_namespaces},
    {"nor may root in a user namespace", as_root_in_user_namespace},
    {"root in a network namespace may do all", as_root_in_network_namespace},
};

static void user(void **state)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(users[(size_t)*state].run());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file))
		fail_msg("%s: %s", path, strerror(errno));
}

/* What the group's processes have of the kernel's memory in objects, small and large. */
static unsigned long long memory_of_slabs(void)
{
	unsigned long long bytes, found = 0;
	char name[64];
	FILE *file = fopen(CGROUP "/memory.stat", "re");

	assert_non_null(file);
	while (fscanf(file, "%63s %llu", name, &bytes) == 2)
		if (!strcmp(name, "slab"))
			found = bytes;
	fclose(file);
	return found;
}

/* In a child, of the group: a server that is told the load of that many services, which outlives it. */
static int server_fill(void)
{
	const struct fl_load_setting setting = {0};
	struct config config = rig_config();
	fl_u16 service;

	file_write(CGROUP "/cgroup.procs", "0");
	if (stand_try_set(&config))
		return 1;
	for (service = 0; service < LOADS; service++)
		if (module_set_load(stand_client(), service, &setting))
			return 1;
	return 0;
}

/* The memory of a server is its group's, which may have a limit. */
static void memory_is_charged(void **state)
{
	struct config config = rig_config();
	const unsigned long long expected = GENERATIONS_BYTES + (unsigned long long)LOADS * LOAD_BYTES;
	const struct timespec pause = {.tv_nsec = 100000000};
	int status, i;
	pid_t child;

	(void)state;
	stand_set(&config); /* which gives the host its addresses */
	stand_detach();
	mkdir(CGROUPS, 0755);
	assert_int_equal(mount("cgroups", CGROUPS, "cgroup2", 0, NULL), 0);
	file_write(CGROUPS "/cgroup.subtree_control", "+memory");
	assert_int_equal(mkdir(CGROUP, 0755), 0);
	child = fork();
	if (!child)
		_exit(server_fill());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (i = 0; i < TRIES && memory_of_slabs() < expected; i++) /* the kernel sums it up every two seconds */
		nanosleep(&pause, NULL);
	if (memory_of_slabs() < expected)
		fail_msg("%llu bytes are charged, %llu at least should be", memory_of_slabs(), expected);
	stand_detach();
	umount(CGROUPS);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	stand_open();
	for (i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		vectors_add_plain(&tests, users[i].name, user, (void *)i);
	vectors_add_plain(&tests, "a server's memory is charged to its cgroup", memory_is_charged, NULL);
	return vectors_run("privileges for the module", &tests);
}
