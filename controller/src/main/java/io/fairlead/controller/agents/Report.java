// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.agents;

import java.util.List;
import java.util.Optional;

/**
 * What an agent reports (protocol/README.md §11).
 *
 * @param boot drawn when the agent started, 32 hex digits
 * @param sequence rises with each report of a boot
 * @param mode "events" or "dumps"
 * @param addresses of the server
 * @param servicesVersion of the services that the agent counts for
 * @param lostEvents of the kernel, since the agent started
 */
public record Report(
    int format,
    String boot,
    long sequence,
    String version,
    String mode,
    List<String> addresses,
    String servicesVersion,
    long lostEvents,
    List<Service> services) {
  public static final int FORMAT = 1;

  public Report {
    addresses = List.copyOf(addresses);
    services = List.copyOf(services);
  }

  /**
   * @param acceptQueue absent if no socket listens
   * @param opened since the last report that was answered; with {@code closed} it need not add up
   *     to the change of {@code established}, since events can be lost
   */
  public record Service(
      String name,
      long established,
      long halfOpen,
      Optional<AcceptQueue> acceptQueue,
      long opened,
      long closed,
      Optional<Answer> answer) {}

  /** Sums over the listening sockets. */
  public record AcceptQueue(long length, long limit) {}

  /**
   * @param buckets of the question that have connections, {@link BucketSetCodec}
   */
  public record Answer(String question, long connections, String buckets) {}

  /**
   * What an agent is asked about a service.
   *
   * @param buckets absent if the report has answered this question already
   */
  public record Question(String name, String question, Optional<String> buckets) {}

  /** The answer to a report. */
  public record Reply(
      int format, String servicesVersion, int nextSeconds, List<Question> questions) {}
}
