// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "pace.h"

enum {
	LINE_BYTES = 64, /* more than a number has */
	CHUNK = 4096,
};

struct command {
	const char *path;
	pid_t child; /* 0: none */
	int output;  /* of the child, not blocking; -1: none */
	struct pace pace;
	fl_u64 start_ns;            /* not before */
	char down[FIGURES_WHY_MAX]; /* why there is no child */
	char line[LINE_BYTES];
	size_t len;
	bool has_number;
	fl_u32 number;    /* that it has printed last */
	fl_u64 number_ns; /* when that was read */
};

struct command *command_open(const char *path)
{
	struct command *command = calloc(1, sizeof(*command));

	if (!command)
		return NULL;
	command->path = path;
	command->output = -1;
	command->pace.controllers = 1;
	return command;
}

/* Ends the child; its status. */
static int end(struct command *command)
{
	int status = 0;

	if (command->output >= 0)
		close(command->output);
	command->output = -1;
	if (command->child) {
		kill(-command->child, SIGKILL); /* and what it has started */
		while (waitpid(command->child, &status, 0) < 0 && errno == EINTR)
			;
	}
	command->child = 0;
	command->len = 0;
	command->has_number = false;
	return status;
}

void command_close(struct command *command)
{
	if (!command)
		return;
	end(command);
	free(command);
}

/* Returns 0 or an errno. */
static int spawn(struct command *command, int output)
{
	char *const argv[] = {(char *)command->path, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0); /* a group of its own */
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	err = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	/* the thread hands these on to what it starts, and does not use them itself */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!err)
		err = posix_spawn(&command->child, command->path, &files, &attributes, argv, environ);
	if (err)
		command->child = 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* It is started again later; command->down says why it is down. Returns false. */
static bool stays_down(struct command *command, fl_u64 now_ns, char why[FIGURES_WHY_MAX])
{
	command->start_ns = now_ns + pace_failed(&command->pace, (fl_u32)now_ns) * MS_NS;
	snprintf(why, FIGURES_WHY_MAX, "%s", command->down);
	return false;
}

static bool start(struct command *command, fl_u64 now_ns, char why[FIGURES_WHY_MAX])
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		err = errno;
	} else {
		/* the child's end blocks: it may print faster than is read */
		fcntl(ends[1], F_SETFL, 0);
		err = spawn(command, ends[1]);
		close(ends[1]);
		if (err)
			close(ends[0]);
		else
			command->output = ends[0];
	}
	if (!err)
		return true;
	snprintf(command->down, sizeof(command->down), "cannot be started: %s", strerror(err));
	return stays_down(command, now_ns, why);
}

enum taken {
	NOTHING,
	NUMBER,
	REFUSED,
};

/* Takes lines off what was read; the last whole one counts. */
static enum taken take(struct command *command, const char *bytes, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	enum taken taken = NOTHING;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n') {
			taken = figures_line(command->line, command->len, busy, why) ? NUMBER : REFUSED;
			command->len = 0;
		} else if (command->len < sizeof(command->line)) { /* a line that is cut is no number */
			command->line[command->len++] = bytes[i];
		}
	}
	return taken;
}

/* Its output is closed: it has ended, or is no use any more. */
static bool ended(struct command *command, fl_u64 now_ns, char why[FIGURES_WHY_MAX])
{
	int status = end(command);

	if (WIFEXITED(status))
		snprintf(command->down, sizeof(command->down), "has ended with %d", WEXITSTATUS(status));
	else
		snprintf(command->down, sizeof(command->down), "has ended");
	return stays_down(command, now_ns, why);
}

/* Whether the number that it has printed last still counts. */
static bool is_fresh(const struct command *command, fl_u64 now_ns)
{
	return command->has_number && now_ns - command->number_ns < COMMAND_COUNTS_MS * MS_NS;
}

bool command_read(struct command *command, fl_u64 now_ns, int deadline_ms, fl_u32 *busy, char why[FIGURES_WHY_MAX])
{
	enum taken taken = NOTHING, now;
	char bytes[CHUNK];
	struct pollfd wait;
	ssize_t got = -1;

	snprintf(why, FIGURES_WHY_MAX, "%s", command->down);
	if (command->output < 0 && (now_ns < command->start_ns || !start(command, now_ns, why)))
		return false;
	wait = (struct pollfd){.fd = command->output, .events = POLLIN};
	snprintf(why, FIGURES_WHY_MAX, "has printed no line within %d ms", deadline_ms);
	/* no wait for a line while there is a number */
	if (poll(&wait, 1, is_fresh(command, now_ns) ? 0 : deadline_ms) <= 0)
		goto last;
	/* what it has printed meanwhile is outdated except for the last line; one that never stops is cut short */
	for (int i = 0; i < CHUNK && (got = read(command->output, bytes, sizeof(bytes))) > 0; i++) {
		now = take(command, bytes, (size_t)got, &command->number, why);
		taken = now == NOTHING ? taken : now;
	}
	if (taken == NUMBER) {
		command->pace.failures = 0;
		command->number_ns = now_ns;
	}
	if (taken != NOTHING)
		command->has_number = taken == NUMBER;
	if (taken == REFUSED)
		return false;
	if (taken == NOTHING && got == 0)
		return ended(command, now_ns, why);
last:
	*busy = command->number;
	return is_fresh(command, now_ns);
}
