/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe by a program of the operator's, which lies in a folder on this host: the tree in ZooKeeper only names it. A
 * connection that it binds to FAIRLEAD_SOURCE and FAIRLEAD_SOURCE_PORT goes to the backend. Code 0: the backend is fine.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/address.h"
#include "prober.h"

enum { VARIABLES = 10, VARIABLE_MAX = 96, PATH_LEN_MAX = 512 };

struct command {
	struct attempt attempt;
	pid_t pid;
	int fd; /* readable once it has ended */
	bool has_ended;
};

static void on_ready(struct waiter *waiter, uint32_t events)
{
	struct command *command = (struct command *)waiter;
	int status;

	(void)events;
	if (waitpid(command->pid, &status, WNOHANG) != command->pid)
		return;
	command->has_ended = true;
	prober_done(&command->attempt, WIFEXITED(status) && !WEXITSTATUS(status) ? OUTCOME_OK : OUTCOME_COMMAND);
}

/* The program's environment: what it is to probe, and nothing of ours but where programs are. */
static void environment(const struct prober *prober, const struct probe *probe, char text[VARIABLES][VARIABLE_MAX],
			char *list[VARIABLES + 1])
{
	const struct target *target = probe->target;
	const struct fl_address *vip = probe_vip(probe);
	char address[ADDRESS_TEXT_MAX];
	int n = 0;

	snprintf(text[n++], VARIABLE_MAX, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_SERVICE=%s", target->service->name);
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_BACKEND=%u", target->id);
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_ADDRESS=%s", address_print(&target->wrap.backend, address));
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_VIP=%s", address_print(vip, address));
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_PROTOCOL=%s",
		 probe_endpoint(probe)->protocol == IPPROTO_UDP ? "udp" : "tcp");
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_PORT=%u", probe_endpoint(probe)->port);
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_SOURCE=%s",
		 address_print(&prober->options.inner[!fl_address_is_ipv4(vip)], address));
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_SOURCE_PORT=%u", probe->source_port);
	snprintf(text[n++], VARIABLE_MAX, "FAIRLEAD_TIMEOUT_MILLIS=%u", target->service->check.timeout_ms);
	for (int i = 0; i < n; i++)
		list[i] = text[i];
	list[n] = NULL;
}

/* Starts it in a process group of its own, with nothing of ours open. 0 or an errno. */
static int spawn(const struct prober *prober, const struct probe *probe, pid_t *pid)
{
	char text[VARIABLES][VARIABLE_MAX], *list[VARIABLES + 1], path[PATH_LEN_MAX], *arguments[] = {path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int error;

	snprintf(path, sizeof(path), "%s/%s", prober->options.commands, probe->target->service->check.command);
	environment(prober, probe, text, list);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	for (int fd = 1; fd <= 2 && !error; fd++)
		error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn(pid, path, &actions, &attributes, arguments, list);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static struct attempt *begin(struct prober *prober, struct probe *probe)
{
	struct command *command = prober->options.commands ? calloc(1, sizeof(*command)) : NULL;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = command};

	if (!command)
		return NULL;
	command->attempt = (struct attempt){{on_ready, NULL}, &attempt_command, prober, probe};
	prober_lead(prober, probe);
	if (spawn(prober, probe, &command->pid)) {
		free(command);
		return NULL;
	}
	prober->commands++;
	command->fd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (command->fd >= 0 && !epoll_ctl(prober->options.epoll, EPOLL_CTL_ADD, command->fd, &event))
		return &command->attempt;
	attempt_command.end(&command->attempt);
	return NULL;
}

static void end(struct attempt *attempt)
{
	struct command *command = (struct command *)attempt;

	if (!command->has_ended) {
		kill(-command->pid, SIGKILL);
		waitpid(command->pid, NULL, 0);
	}
	if (command->fd >= 0)
		prober_close_fd(attempt->prober, command->fd);
	attempt->prober->commands--;
	prober_bury(attempt->prober, &attempt->waiter);
}

static enum outcome late(const struct attempt *attempt)
{
	(void)attempt;
	return OUTCOME_COMMAND;
}

const struct attempt_kind attempt_command = {begin, end, late, PORTS_REST_UDP_MS};
