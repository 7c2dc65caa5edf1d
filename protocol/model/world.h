/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bucket of one service, the servers that own it in turn, two muxes and one connection: everything that decides
 * whether the connection breaks, small enough that every reachable state can be visited (explorer.h).
 *
 *	controller	moves the bucket: generation n has owner[n] and previous[n], committed `age` ticks ago
 *	current mux	has applied every generation; before that it tells servers (WORLD_NOTICE, or notices_at_once)
 *	late mux	has applied generations up to `late`; with WORLD_NOTICES_LATE it alone tells servers
 *	server		what it remembers of the bucket, and the highest generation it has seen
 *	connection	its server (home), WORLD_NONE before it is opened
 *	hold		ends with a generation that moves nothing: after a report, or 7 ticks after the last move. A report
 *			counts once no mux opens connections at earlier owners any more (enum world_absence)
 *
 *	drain		a server that lost the bucket is said to be empty by a report, which counts as with a hold; then it is
 *			switched off. Not while packets to owners before it are chained through it
 *
 * Packets go through the real fl_verdict_decide(), hop by hop. Time is in ticks of 10 s and the window is 4 ticks; ages
 * beyond WORLD_AGE_MAX are equal for every rule, so the state is finite although time is not.
 */
#ifndef FAIRLEAD_MODEL_WORLD_H
#define FAIRLEAD_MODEL_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "server.h"

enum world_numbers {
	WORLD_SERVERS = 4,
	WORLD_MOVES_MAX = 4,
	WORLD_WINDOW = 4,  /* ticks */
	WORLD_QUIET = 6,   /* ticks; longer than the window, as the wait for an absent mux matters only then */
	WORLD_AGE_MAX = 7, /* the window, the largest clock error twice, and one */
};

/* Whether the controller knows how far the late mux is. Matters to holds and drains only. */
enum world_absence {
	WORLD_PRESENT, /* yes: ZooKeeper has its node. A report waits until it has applied the last move */
	/*
	 * No: its session has ended. It opens connections until WORLD_QUIET ticks after the first generation that it lacks,
	 * then it has withdrawn. A report waits for as long after the last move.
	 */
	WORLD_ABSENT,
	WORLD_LOST, /* no, and it never withdraws: it hears no other mux. A report waits as with WORLD_ABSENT */
	WORLD_ABSENCES,
};

enum world_traffic {
	WORLD_TCP,
	WORLD_CONNECTED, /* datagrams to a socket that is connected to the client, beside one that takes all others' */
	WORLD_FRAGMENTS, /* the same in two fragments each: only the first shows its socket */
	WORLD_DATAGRAMS, /* an unconnected socket: no server recognises a datagram as its own */
	WORLD_BY_ID,     /* the same, and but for the first packet steered to the server that its connection id names */
	WORLD_STATELESS, /* each datagram is answered by itself, and muxes name no bucket: only a lost one is broken */
	WORLD_TRAFFICS,
};

enum world_notices {
	WORLD_NOTICES_OFF,
	WORLD_NOTICES_LOSSY,   /* lost, late or repeated, each of them on its own */
	WORLD_NOTICES_AT_ONCE, /* all have arrived before any mux applies the generation */
	WORLD_NOTICES_LATE,    /* the late mux alone sends them, and they arrive before it applies a generation */
};

/* Fixed for a run of the explorer. */
struct world_setting {
	enum world_traffic traffic;
	enum world_notices notices;
	unsigned moves;                 /* at most WORLD_MOVES_MAX */
	bool hold;                      /* muxes stamp MOVED until the controller releases the bucket */
	bool behind;                    /* the late mux may be late; else both are current */
	enum world_absence absence;     /* of the late mux */
	bool hasty;                     /* a report does not wait for the late mux: only to show what breaks then */
	bool death;                     /* one server may die, and is then removed with --dead */
	bool drain;                     /* one server that lost the bucket may be said to be empty, and switched off */
	int clock_ticks[WORLD_SERVERS]; /* error of each server's clock */
};

struct world_server {
	uint8_t seen; /* highest generation */
	struct server_memory memory;
};

/* No padding: states are compared and hashed as bytes. */
struct world {
	uint8_t moves;
	uint8_t owner[WORLD_MOVES_MAX + 1];    /* [generation]; generation 0 is the ring's first */
	uint8_t previous[WORLD_MOVES_MAX + 1]; /* [generation]: the owner before, as the ring says; WORLD_NONE: 0 */
	uint8_t age[WORLD_MOVES_MAX + 1];      /* [generation], of the move that led to it; [0] is not used */
	uint8_t late;
	uint8_t skipped; /* with WORLD_NOTICES_LATE, a bit for each generation that the late mux has jumped over */
	uint8_t home;
	uint8_t by_late;   /* the late mux was behind when it steered the packet that opened the connection */
	uint8_t dead;      /* a server, or WORLD_NONE */
	uint8_t reported;  /* with hold: no earlier owner had a connection at some time after the window */
	uint8_t empty;     /* the server that is said to be, or WORLD_NONE */
	uint8_t overtaken; /* a release after a report found the connection at an earlier owner */
	struct world_server server[WORLD_SERVERS];
};

_Static_assert(sizeof(struct world) == 9 + 3 * (WORLD_MOVES_MAX + 1) + 4 * WORLD_SERVERS, "no padding");

enum world_action {
	WORLD_TIME,     /* a tick passes */
	WORLD_MOVE,     /* + server: the bucket moves there; the current mux applies it at once */
	WORLD_CATCH_UP, /* the late mux applies one generation */
	WORLD_JUMP, /* the late mux loads a snapshot of the newest; only with WORLD_NOTICES_LATE it is a step of its own */
	WORLD_PACKET, /* + mux: a packet of the connection; the first one opens it */
	WORLD_OTHER,  /* + mux: another client's SYN in the same bucket */
	WORLD_NEWS,   /* + server: a packet of another bucket by the current mux; only its generation matters */
	WORLD_NOTICE, /* + world_notice(): it arrives, again or for the first time */
	WORLD_DEATH,  /* + server: it never answers again */
	WORLD_REMOVE, /* `backend remove --dead` of the dead server; the current mux applies it at once */
	WORLD_REPORT, /* with hold: the earlier owners report, after the window and once no mux opens any there, that they
			  have no connection */
	WORLD_RELEASE, /* the controller clears the previous owner: after such a report, or at the hold's end */
	WORLD_EMPTY,   /* + server: with drain: it reports that it has no connection, and this counts */
	WORLD_OFF,     /* the empty server is switched off: it is dead, and a connection that it has breaks */
	WORLD_SETTLE,  /* the dead server is removed, all muxes become current and the client sends again and again; the
			   last step of a sequence */
};

enum world_mux { WORLD_CURRENT, WORLD_LATE };

struct world_step {
	uint8_t action;
	uint8_t subject; /* a server, a mux or a notice */
};

enum { WORLD_STEPS_MAX = 9 + 4 * WORLD_SERVERS + 4 + WORLD_MOVES_MAX * WORLD_SERVERS };

enum world_result {
	WORLD_IDLE,      /* no packet of the connection */
	WORLD_DELIVERED, /* at its server */
	WORLD_DROPPED,   /* the client sends it again */
	WORLD_BROKEN,    /* at a server that does not know it (a RST, or a lost datagram), or never anywhere */
	WORLD_ENDED,     /* its server has died */
};

/* The first state: the bucket is server 0's and always was. */
struct world world_first(void);

/* Every step that is possible now, in the order of enum world_action; returns how many. */
unsigned world_steps(const struct world_setting *setting, const struct world *world,
		     struct world_step steps[WORLD_STEPS_MAX]);

/* Takes a step that world_steps() returned. */
enum world_result world_take(const struct world_setting *setting, struct world *world, struct world_step step);

/* The notice to a server about a generation. */
static inline uint8_t world_notice(uint8_t generation, uint8_t server)
{
	return (uint8_t)(generation * WORLD_SERVERS + server);
}

/* Delivers every notice that was sent and that a server has not got yet. */
void world_tell(const struct world_setting *setting, struct world *world);

/* Whether packets of TCP are still sent on to the owner that generation g's move took the bucket from. */
bool world_is_followed(const struct world_setting *setting, const struct world *world, unsigned g);

#endif
