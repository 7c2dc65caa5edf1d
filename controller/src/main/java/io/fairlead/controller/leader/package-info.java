// SPDX-License-Identifier: Apache-2.0
/**
 * The control plane over ZooKeeper: elections, terms of leaders, and what they answer.
 *
 * <pre>
 *   FairleadController
 *     Facilities    outlive a term: connection, watches, clocks, threads, metrics
 *     CurrentRole   one reference, swapped by the Candidate
 *       Follower    reads by the watch of all services
 *       Term        all that a leader knows and runs in one epoch
 * </pre>
 *
 * <p>Who may touch what:
 *
 * <table>
 *   <caption>Threads</caption>
 *   <tr><th>thread</th><th>owns</th></tr>
 *   <tr><td>election</td><td>elections; it alone changes the role, except at the end</td></tr>
 *   <tr><td>load, 8 during a load</td><td>a service each of a term that is not a role yet</td></tr>
 *   <tr><td>catalogue</td><td>names, ids and VIPs: writes to whole services, and the journal's
 *     length</td></tr>
 *   <tr><td>writer, 32</td><td>of each service one at a time: its {@link ServiceWriter}</td></tr>
 *   <tr><td>snapshot</td><td>nothing: encodes an image for a writer</td></tr>
 *   <tr><td>othello, 2</td><td>of each service one at a time: its keeper of arrays</td></tr>
 *   <tr><td>term, 3 of each term</td><td>one each: {@link HealthWork}; what muxes are told ({@link
 *     LoadsWriter}, {@link SettledWriter}); keepers of arrays, which it only submits</td></tr>
 *   <tr><td>timer, of each term</td><td>alarms of all services' events ({@link EventTimer}), which it only
 *     submits</td></tr>
 *   <tr><td>clock</td><td>the comparison with ZooKeeper's clock</td></tr>
 *   <tr><td>service-watch</td><td>a follower's services</td></tr>
 *   <tr><td>those of requests and of ZooKeeper's events</td><td>nothing: they read images, and
 *     submit</td></tr>
 * </table>
 *
 * <p>All else that several threads read is immutable, volatile, or guarded by one lock in one
 * class.
 */
package io.fairlead.controller.leader;

import io.fairlead.controller.service.EventTimer;
import io.fairlead.controller.service.ServiceWriter;
