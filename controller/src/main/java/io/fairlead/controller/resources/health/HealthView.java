// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.health;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fairlead.controller.resources.health.HealthDecision.State;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The health of a service's backends as the leader sees it.
 *
 * @param healthy backends that are neither down nor out
 * @param panic whether health is ignored
 * @param acting false while a new leader only looks
 * @param probes that count
 * @param needed of them, to call a backend down
 * @param unprobed muxes whose probe does not probe the service, and why
 * @param history the latest first
 */
public record HealthView(
    String service,
    List<Backend> backends,
    int healthy,
    boolean panic,
    boolean acting,
    int probes,
    int needed,
    List<String> unprobed,
    List<Event> history) {
  /** So many changes of a service's backends are kept. */
  public static final int HISTORY = 100;

  /**
   * @param up probes by what they say
   * @param faults by mux
   * @param since Unix seconds, of one that is out
   * @param times how often it went out lately
   * @param returns Unix seconds
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Backend(
      int backend,
      State state,
      int up,
      int down,
      int silent,
      Map<String, String> faults,
      Optional<Long> since,
      Optional<Integer> times,
      Optional<Long> returns) {}

  /** A change of a backend; {@code at} is Unix seconds. */
  public record Event(long at, int backend, State from, State to, String reason) {}
}
