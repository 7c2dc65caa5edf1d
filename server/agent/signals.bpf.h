/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the program that counts signals and the agent share. */
#ifndef FAIRLEAD_AGENT_SIGNALS_BPF_H
#define FAIRLEAD_AGENT_SIGNALS_BPF_H

#include "events.bpf.h"

/* What is counted; protocol/README.md, 11 says what each is. */
enum agent_signal {
	SIGNAL_REFUSED,
	SIGNAL_RESETS_SENT,
	SIGNAL_RESETS_RECEIVED,
	SIGNAL_RETRANSMITTED,
	SIGNAL_SEGMENTS,
	SIGNAL_RTT_SAMPLES,
	SIGNAL_RTT_MICROSECONDS,
	AGENT_SIGNALS,
};

enum agent_signals_numbers {
	AGENT_ENDS_MAX = 65536,
};

/* The local end of connections. */
struct agent_end {
	struct agent_address address;
	__u32 port; /* host order */
};

struct agent_counts {
	__u64 counts[AGENT_SIGNALS];
};

#endif
