/* SPDX-License-Identifier: Apache-2.0 */
#include "processor.h"

#ifdef __x86_64__
#include <signal.h>
#include <time.h>

static volatile int64_t steps;

static void on_step(int number)
{
	(void)number;
	steps++;
}

/* The trap flag, by which the processor stops after each instruction. Leaves alone what leaf functions keep below. */
#define SET_TRAP_FLAG(operation)                                                                                       \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" operation                                              \
			 ", (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"                                                 \
			 :                                                                                             \
			 :                                                                                             \
			 : "cc", "memory")

int64_t processor_steps(void (*run)(void *context), void *context)
{
	struct sigaction action = {.sa_handler = on_step}, before;

	sigaction(SIGTRAP, &action, &before);
	steps = 0;
	SET_TRAP_FLAG("orq $0x100");
	run(context);
	SET_TRAP_FLAG("andq $~0x100");
	sigaction(SIGTRAP, &before, NULL);
	return steps;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* By a chain of multiplications, each of which takes three cycles on all processors with AVX2. */
double processor_cycle(void)
{
	enum { CHAIN = 10000000 };
	double start = now_ns();
	uint64_t x = 3;

	for (int i = 0; i < CHAIN; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	return (now_ns() - start) / (3.0 * CHAIN);
}
#else
int64_t processor_steps(void (*run)(void *context), void *context)
{
	(void)run;
	(void)context;
	return -1;
}

double processor_cycle(void)
{
	return 0;
}
#endif
