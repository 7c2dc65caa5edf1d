// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.Optional;

/**
 * The record of one write, or of one read of secrets.
 *
 * @param time RFC 3339, by the controller's clock
 * @param who name of the caller's token, "nobody" without authentication, "controller" for its own
 *     writes
 * @param what the request in one line
 * @param body the request's body without secrets; absent if there was none or it was long
 * @param service that was written to; absent of a read, which concerns all of them
 * @param outcome "committed" or "read": refused requests leave no record here
 * @param generation of the service afterwards, 0 of a read
 * @param returnedBuckets how many returned to their previous owner within their window; absent if
 *     none
 * @param controller the leader in {@code epoch}; of a read, the one that answered
 * @param key names the kept answer, which is deleted with the record
 */
@JsonPropertyOrder({
  "format",
  "time",
  "who",
  "what",
  "body",
  "service",
  "outcome",
  "generation",
  "movedBuckets",
  "returnedBuckets"
})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record AuditEntry(
    int format,
    String time,
    String who,
    String what,
    Optional<String> body,
    Optional<String> service,
    String outcome,
    long generation,
    int movedBuckets,
    Optional<Integer> returnedBuckets,
    long epoch,
    String controller,
    Optional<String> key) {
  public static final int FORMAT = 1;
  public static final String COMMITTED = "committed";
  public static final String READ = "read";
}
