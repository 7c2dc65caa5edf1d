/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>

#include "packet/general.h"

static bool has_all(void)
{
	return true;
}

#ifdef __x86_64__
/* lanes_steer() by registers of so many bytes (flow/lanes_names.h) */
void lanes_steer_32(struct burst *burst);
void lanes_steer_64(struct burst *burst);

static bool has_avx2(void)
{
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vbmi");
}
#elif defined(__aarch64__)
void lanes_steer_16(struct burst *burst);
#endif

const struct burst_path_entry burst_paths[BURST_PATHS] = {
    {"reference", has_all, general_steer},
#ifdef __x86_64__
    {"avx2", has_avx2, lanes_steer_32},
    {"avx512", has_avx512, lanes_steer_64},
#elif defined(__aarch64__)
    {"neon", has_all, lanes_steer_16},
#endif
};

enum burst_path burst_path;

static __attribute__((constructor)) void choose_path(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
#endif
	for (int i = 0; i < BURST_PATHS; i++)
		if (burst_paths[i].has_cpu())
			burst_path = (enum burst_path)i;
}

void burst_steer_classified(struct burst *burst)
{
	burst_begin(burst);
	general_steer_classified(burst);
}

void burst_steer_by(struct burst *burst, enum burst_path path)
{
	burst_begin(burst);
	(burst->count < BURST_FEW ? general_steer : burst_paths[path].steer)(burst);
}

void burst_steer(struct burst *burst)
{
	burst_steer_by(burst, burst_path);
}
