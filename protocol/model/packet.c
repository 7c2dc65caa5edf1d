/* SPDX-License-Identifier: Apache-2.0 */
#include "packet.h"

#include <fairlead/decide.h>

static uint16_t push_all(uint16_t path, uint16_t list)
{
	for (; list; list >>= 3)
		path = list_push(path, (list & 7) - 1);
	return path;
}

/* The candidates by generation g, bucket f first. */
static uint16_t path_of(const struct state *t, int g, int f, bool is_syn)
{
	uint16_t a = t->list[f][g], c = setting.buckets == 2 ? t->list[!f][g] : 0, path = 0;

	if (setting.arrays) {
		int before = t->code[g] >> 1 & 3;

		a = t->list[t->code[g] & 1][g];
		c = before ? t->list[before - 1][g] : 0;
		if (is_syn && has(R_FIRST))
			return a & 7;
	}
	if (is_syn && has(R_SYNLIST))
		return push_all(a & 7, c & 7);
	if (!has(R_SECOND) || named_buckets() < setting.buckets)
		c = 0;
	if (setting.order == OWNERS_FIRST)
		path = push_all(a & 7, c & 7);
	return push_all(push_all(path, a), c);
}

static struct fl_address address(int server)
{
	const fl_u8 ipv4[4] = {10, 0, 0, (fl_u8)(server + 1)};

	return fl_address_from_ipv4(ipv4);
}

static enum fl_packet_class class_at(const struct state *t, const struct flight *p, int s, unsigned how)
{
	bool half = t->half >> s & 1;

	if (p->kind == K_SYN)
		return how & BUSY && !half ? FL_PACKET_REFUSED : FL_PACKET_SYN;
	if (setting.traffic == UDP_OPEN || p->kind == K_LATER)
		return FL_PACKET_NO_RESET;
	if (s == t->home || (half && !has(R_ACKS)))
		return FL_PACKET_LOCAL_SOCKET;
	return setting.traffic == TCP ? FL_PACKET_UNKNOWN : FL_PACKET_NO_RESET;
}

/* What the server at the head of the packet's path decides, and it learns. */
static enum fl_verdict decide(struct state *t, struct flight *p, int s, unsigned how)
{
	struct fl_decide_in in = {
	    .packet = class_at(t, p, s, how),
	    .trusted = true,
	    .quiet = has(R_QUIET) && t->fresh >> s & 1,
	    .list = {.generation = state_number(t, p->gen) + 1U, .flags = p->late ? FL_LIST_LATE : 0},
	    .generation_seen = t->former >> s & 1 ? G + 1U : t->seen[s] + 1U,
	    .self = {address(s)}};
	struct fl_decide_out out;

	for (uint16_t l = p->path >> 3; l; l >>= 3)
		in.list.candidate[in.list.count++] = address((l & 7) - 1);
	in.list.left = in.list.count;
	fl_decide(&in, &out);
	if (out.verdict == FL_VERDICT_CHAIN && how & SKIP) {
		bool late = out.late;

		fl_decide_skip(&in, &out);
		out.late = late || has(R_SKIP);
		if (out.verdict == FL_VERDICT_DROP_STALE && !out.late)
			out.verdict = FL_VERDICT_DELIVER;
	}
	if (out.generation_seen <= G)
		t->seen[s] = (uint8_t)(out.generation_seen - 1);
	if (out.verdict == FL_VERDICT_CHAIN) {
		p->path >>= 3 * (in.list.count - out.left);
		if (setting.traffic == TCP)
			p->hint |= (state_lacks_notice(t, s, p->gen) ? LACKED : 0) | (out.late ? KNEW : 0);
		if (has(R_LATE) && !setting.ipip)
			p->late = out.late;
	}
	return out.verdict == FL_VERDICT_DROP_STALE && !has(R_STALE) ? FL_VERDICT_DELIVER : out.verdict;
}

/* A server that was removed as dead and is back: muxes that have not applied the removal still name it. */
static bool is_outside(const struct state *t, const struct flight *p, int s)
{
	if (!setting.revive || s != t->restarted)
		return false;
	for (int g = p->gen; g <= t->n; g++)
		if (!list_has(t->list[0][g], s) && !list_has(t->list[1][g], s))
			return true;
	return false;
}

static void open_at(struct state *t, const struct flight *p, int s, bool cookie)
{
	if (s == t->gone || is_outside(t, p, s))
		return; /* its connections end, or nothing is promised */
	if (t->home != s && !((t->half | t->cookie) >> s & 1))
		t->born[s] = tracks_birth() ? p->gen : 0;
	if (setting.arrays) {
		if (t->home == NONE) {
			t->home = (uint8_t)s;
			t->home_cookie = cookie;
			t->known = (uint8_t)(((t->code[p->gen] >> 3) + 1) << 1);
		}
	} else {
		uint8_t *copies = cookie && !(t->half >> s & 1) ? &t->cookie : &t->half;

		if (state_is_reduced()) /* the client continues with one of them: with this, or another packet comes later */
			t->half = t->cookie = 0;
		*copies |= (uint8_t)(1 << s);
	}
	if (t->home == s) { /* a SYN of an open connection, late: its server answers itself */
		t->half &= (uint8_t) ~(1 << s);
		t->cookie &= (uint8_t) ~(1 << s);
	}
}

/* A datagram that this server's socket takes. */
static enum result take_datagram(struct state *t, const struct flight *p, int s, enum cause *cause)
{
	bool is_late = p->gen < state_mux_max(t);

	if (t->home == NONE) {
		t->home = (uint8_t)s;
		t->born[s] = tracks_birth() ? p->gen : 0;
		return DELIVERED;
	}
	if (s == t->home)
		return DELIVERED;
	if (t->home == t->dead)
		return ENDED;
	*cause = state_gone(t, t->home, p->gen);
	if (*cause == C_NONE && (is_late || (setting.traffic != UDP_CONNECTED && list_len(t->list[0][p->gen]) > 1)))
		*cause = C_DATAGRAM;
	return BROKEN;
}

/* A segment that this server resets. */
static enum result reset(const struct state *t, const struct flight *p, int s, enum cause *cause)
{
	if (t->home == t->dead)
		return ENDED;
	*cause = p->gen >= t->born[t->home] ? state_gone(t, t->home, p->gen) : C_NONE;
	if (*cause == C_NONE && setting.deaf && p->gen < t->settled)
		*cause = C_ALONE;
	if (*cause == C_NONE && setting.older && s == t->restarted && p->gen < t->memo && state_mux_max(t) < t->memo)
		*cause = C_ALONE; /* it would know, had it not forgotten, and all muxes that know are gone */
	if (*cause == C_NONE && setting.ipip && p->hint & KNEW)
		*cause = C_IPIP;
	if (*cause != C_NONE || !has(R_STALE) || p->hint & KNEW ||
	    !(p->hint & LACKED || state_lacks_notice(t, s, p->gen) || p->gen < t->born[t->home]))
		return BROKEN;
	if (setting.lost_mux)
		*cause = C_ALONE;
	else if (setting.notices == LOSSY || setting.notices == LAST)
		*cause = C_NOTICE;
	return BROKEN;
}

enum result packet_hop(struct state *t, struct flight *p, unsigned how, enum cause *cause)
{
	int s = list_at(p->path, 0);
	bool is_syn = p->kind == K_SYN;
	enum fl_verdict verdict;

	*cause = C_NONE;
	if (s == t->dead) {
		p->kind = K_NONE;
		return t->home == t->dead ? ENDED : DROPPED;
	}
	verdict = decide(t, p, s, how);
	if (verdict == FL_VERDICT_CHAIN)
		return SENT;
	p->kind = K_NONE;
	if (verdict == FL_VERDICT_DROP_STALE)
		return DROPPED;
	if (is_syn) {
		open_at(t, p, s, how & COOKIE);
		return IDLE;
	}
	if (s == t->home) {
		t->home_cookie = 0;
		return DELIVERED;
	}
	return setting.traffic == TCP ? reset(t, p, s, cause) : take_datagram(t, p, s, cause);
}

struct flight packet_of(const struct state *t, int m, int order, int ahead)
{
	bool is_syn = t->home == NONE && setting.traffic == TCP;
	struct flight p = {
	    .kind = is_syn ? K_SYN : K_SEG, .gen = t->mux[m], .path = path_of(t, t->mux[m] + ahead, order, is_syn)};

	if (setting.room && list_len(p.path) > setting.room) {
		p.path &= (uint16_t)((1 << 3 * setting.room) - 1);
		p.late = has(R_CUT);
	}
	return p;
}

unsigned packet_how(unsigned how, int hop)
{
	unsigned rest = how & (BUSY | COOKIE);

	return hop == 0 ? how & (unsigned)~SKIP2 : rest | (hop == 1 && how & SKIP2 ? SKIP : 0);
}

static enum result walk(struct state *t, struct flight *p, unsigned how, enum cause *cause)
{
	enum result result = SENT;

	for (int hop = 0; result == SENT; hop++)
		result = packet_hop(t, p, packet_how(how, hop), cause);
	return result;
}

enum result packet_walk(struct state *t, struct flight *p, unsigned how, enum cause *cause)
{
	struct flight later = *p;
	enum result result = walk(t, p, how, cause);

	if (setting.traffic != UDP_FRAGMENTS || result != DELIVERED)
		return result;
	later.kind = K_LATER; /* has no ports, so no socket is known */
	return walk(t, &later, 0, cause);
}
