/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `fairlead-server agent` (agent/): counts the connections of the services that this server serves and
 * reports them to the controllers (protocol/README.md, 11), until SIGTERM or SIGINT.
 */
#ifndef FAIRLEAD_AGENT_H
#define FAIRLEAD_AGENT_H

extern const char agent_help[];

/* argv[0] is "agent". Returns the exit code; a sentence has been printed if it is not 0. */
int agent_main(int argc, char **argv);

#endif
