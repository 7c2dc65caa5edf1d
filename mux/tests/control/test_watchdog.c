/* SPDX-License-Identifier: Apache-2.0 */
/* Processes with a watchdog: one that is stopped is killed, one that runs is not, and process 1 gets none. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "threads/watchdog.h"

enum { PATIENCE_S = 60, DONE = 7, NO_NAMESPACE = 8 };

/* Ends by the alarm if nothing else ends it. */
static _Noreturn void live(bool is_stopped)
{
	struct reason why = {""};

	alarm(PATIENCE_S);
	if (watchdog_start(&why))
		_exit(1);
	if (is_stopped)
		raise(SIGSTOP);
	usleep(2 * WATCHDOG_LOOKS * WATCHDOG_LOOK_MS * 1000);
	_exit(DONE);
}

static int status_of(pid_t child)
{
	int status = 0;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_stopped_process_is_killed(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		live(true);
	status = status_of(child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void one_that_runs_is_not(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child)
		live(false);
	status = status_of(child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), DONE);
}

/* The kernel lets no process of a PID namespace kill its first. */
static void process_1_gets_none(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		struct reason why = {""};
		pid_t first;

		if (unshare(CLONE_NEWPID))
			_exit(NO_NAMESPACE);
		first = fork();
		if (!first)
			_exit(watchdog_start(&why) == -EPERM && strstr(why.text, "process 1") ? DONE : 1);
		_exit(WEXITSTATUS(status_of(first)));
	}
	status = status_of(child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stopped_process_is_killed),
	    cmocka_unit_test(one_that_runs_is_not),
	    cmocka_unit_test(process_1_gets_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
