// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/**
 * The record of one write, of one read of secrets, or of an agent's report about another server.
 *
 * @param time RFC 3339, by the controller's clock
 * @param who name of the caller's token, "nobody" without authentication, "controller" for its own
 *     writes
 * @param what the request in one line
 * @param body the request's body without secrets, or why it was refused; absent if there was none
 *     or it was long
 * @param service that was written to; absent of a read and of the cluster's settings, which concern
 *     all of them
 * @param outcome "committed", "read", or "refused" of a report about another server: all other
 *     requests that are refused leave no record here
 * @param generation of the service afterwards, 0 if nothing was written
 * @param lostBuckets how many lost a former owner, whose connections broke; absent if none
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
  "lostBuckets"
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
    Optional<Integer> lostBuckets,
    long epoch,
    String controller,
    Optional<String> key) {
  public static final int FORMAT = 1;
  public static final String COMMITTED = "committed";
  public static final String READ = "read";
  public static final String REFUSED = "refused";

  /** One of a write by {@code who} to {@code service}, or to the whole cluster. */
  public static Builder committed(String who, String what, Optional<String> service) {
    return new Builder(who, what, service, COMMITTED);
  }

  /** One of a read of secrets by {@code who}. */
  public static Builder read(String who, String what) {
    return new Builder(who, what, Optional.empty(), READ);
  }

  /** One of what {@code who} was not allowed to do. */
  public static Builder refused(String who, String what) {
    return new Builder(who, what, Optional.empty(), REFUSED);
  }

  /** Sets a record's fields by name. */
  public static final class Builder {
    private final String who;
    private final String what;
    private final Optional<String> service;
    private final String outcome;
    private String time = "";
    private Optional<String> body = Optional.empty();
    private long generation;
    private int movedBuckets;
    private Optional<Integer> lostBuckets = Optional.empty();
    private long epoch;
    private String controller = "";
    private Optional<String> key = Optional.empty();

    private Builder(String who, String what, Optional<String> service, String outcome) {
      this.who = who;
      this.what = what;
      this.service = service;
      this.outcome = outcome;
    }

    /** By the clock of this controller. */
    public Builder at(Instant now) {
      time = now.truncatedTo(ChronoUnit.MILLIS).toString();
      return this;
    }

    public Builder body(Optional<String> to) {
      body = to;
      return this;
    }

    public Builder generation(long to) {
      generation = to;
      return this;
    }

    /** Lost ones are absent if there are none. */
    public Builder buckets(int moved, int lost) {
      movedBuckets = moved;
      lostBuckets = Optional.of(lost).filter(count -> count > 0);
      return this;
    }

    /** The controller, and the epoch that it leads in or knows of. */
    public Builder by(String id, long in) {
      epoch = in;
      controller = id;
      return this;
    }

    public Builder key(Optional<String> to) {
      key = to;
      return this;
    }

    public AuditEntry build() {
      return new AuditEntry(
          FORMAT,
          time,
          who,
          what,
          body,
          service,
          outcome,
          generation,
          movedBuckets,
          lostBuckets,
          epoch,
          controller,
          key);
    }
  }
}
