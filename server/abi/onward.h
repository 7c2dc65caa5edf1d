/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The way of a packet through its candidates, after fl_decide_alone() has left it to them: the first one that it can be sent
 * to gets it. A form that includes this defines struct fl_form, a packet as it keeps it, and three functions:
 *
 *	fl_form_way()		whether the packet can be sent to the candidate out->next
 *	fl_form_count()		counts what is no exit
 *	fl_form_is_flooded()	whether it is one too many of those that other servers have sent here (flood.h)
 */
#ifndef FAIRLEAD_ONWARD_H
#define FAIRLEAD_ONWARD_H

#include <fairlead/decide.h>

#include "counters.h"
#include "flood.h"
#include "flow.h"

enum fl_way {
	FL_WAY_NONE,
	FL_WAY_UNTRUSTED, /* the candidate is no server among the peers */
	FL_WAY_FOUND,
};

struct fl_form;

static enum fl_way fl_form_way(struct fl_form *form);
static void fl_form_count(struct fl_form *form, enum fl_counter counter);
static bool fl_form_is_flooded(struct fl_form *form);

/* flow: the packet's. FL_WAY_NONE: out->verdict says how the packet ends here. */
FL_INLINE enum fl_way fl_onward(struct fl_form *form, const struct fl_flow *flow, struct fl_decide_in *in,
				struct fl_decide_out *out)
{
	enum fl_way way;
	int i;

	in->flooded = flow->protocol == IPPROTO_TCP && fl_decide_asks_flooded(in) && fl_form_is_flooded(form);
	fl_decide_on(in, out);
	FL_LIST_EACH (i) {
		if (out->verdict != FL_VERDICT_CHAIN)
			break;
		way = fl_form_way(form);
		if (way != FL_WAY_NONE)
			return way;
		fl_form_count(form, FL_COUNTER_SKIPPED);
		fl_decide_skip(in, out);
	}
	return FL_WAY_NONE;
}

#endif
