/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/hang.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/clock.h"

enum { NS_PER_MS = 1000000 };

enum hang_kind hang_judge(struct hang *hang, const struct hang_look *look)
{
	uint64_t step = look->now_ms - hang->last.now_ms;

	if (!hang->is_known || look->turns != hang->turns) {
		*hang =
		    (struct hang){.is_known = true, .turns = look->turns, .turned_cpu_ns = look->cpu_ns, .last = *look};
		return HANG_NONE;
	}
	if (step > 2 * HANG_LOOK_MS)
		step = 2 * HANG_LOOK_MS;
	if (!look->is_runnable && look->cpu_ns == hang->last.cpu_ns)
		hang->blocked_ms += step;
	else
		hang->blocked_ms = 0;
	hang->last = *look;
	if (look->cpu_ns - hang->turned_cpu_ns >= (uint64_t)HANG_LOOPS_MS * NS_PER_MS)
		return HANG_LOOPS;
	return hang->blocked_ms >= HANG_BLOCKED_MS ? HANG_BLOCKED : HANG_NONE;
}

/* The thread's state, as in /proc; 0: there is no such thread. */
static char state_of(pid_t thread)
{
	char path[64], text[256];
	const char *end;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = 0;
	end = strrchr(text, ')'); /* the name, which may have any character, is in parentheses */
	return end && end[1] == ' ' ? end[2] : 0;
}

/* The kernel's number of a thread's clock of processor time, as pthread_getcpuclockid() makes it. */
static clockid_t clock_of(pid_t thread)
{
	return (clockid_t)(~(unsigned)thread << 3 | 6);
}

enum hang_kind hang_look(struct hang *hang, const struct beat *beat, uint64_t now_ms)
{
	pid_t thread = __atomic_load_n(&beat->thread, __ATOMIC_ACQUIRE);
	struct hang_look look = {.now_ms = now_ms, .turns = __atomic_load_n(&beat->turns, __ATOMIC_RELAXED)};
	struct timespec used = {0};

	if (!thread) {
		*hang = (struct hang){0};
		return HANG_NONE;
	}
	if (hang->is_known && look.turns == hang->turns)
		look.is_runnable = state_of(thread) == 'R';
	if (!clock_gettime(clock_of(thread), &used))
		look.cpu_ns = (uint64_t)used.tv_sec * 1000 * NS_PER_MS + (uint64_t)used.tv_nsec;
	return hang_judge(hang, &look);
}

const char *hang_name(enum hang_kind kind)
{
	static const char *const names[] = {[HANG_NONE] = "none", [HANG_LOOPS] = "loops", [HANG_BLOCKED] = "blocked"};

	return names[kind];
}
