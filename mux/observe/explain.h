/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommand `fairlead-mux explain`: asks a running mux over HTTP where a connection's packets go. */
#ifndef FAIRLEAD_MUX_EXPLAIN_H
#define FAIRLEAD_MUX_EXPLAIN_H

/* argv after the verb. Returns the exit code. */
int explain_main(int argc, char *const *argv);

#endif
