/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* By a signal. */
static bool is_stopped(pid_t pid)
{
	char path[64], text[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	end = strrchr(text, ')'); /* the name, which may have any character, is in parentheses */
	return end && end[1] == ' ' && end[2] == 'T';
}

static _Noreturn void watch(pid_t mux)
{
	static const struct timespec pause = {.tv_nsec = WATCHDOG_LOOK_MS * 1000000L};

	for (int looks = 0; looks < WATCHDOG_LOOKS; looks = is_stopped(mux) ? looks + 1 : 0) {
		nanosleep(&pause, NULL);
		if (getppid() != mux)
			_exit(0);
	}
	fprintf(stderr, "mux event=killed why=stopped\n");
	kill(mux, SIGKILL);
	_exit(0);
}

int watchdog_start(struct reason *why)
{
	pid_t mux = getpid(), child;

	if (mux == 1)
		return reason_set(why, -EPERM,
				  "--watchdog: 'on' fails here: the mux is process 1, which nothing in its container "
				  "can kill; allowed: off, or an init process in the container (podman run --init)");
	child = fork();
	if (child < 0)
		return reason_set(why, -errno, "--watchdog: 'on' fails here: %s; allowed: on, off", strerror(errno));
	if (child)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "watchdog");
	watch(mux); /* which ends at once if the mux has ended before the line above */
}
