// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
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
 * @param form of the server side; absent if the agent does not watch it, or is of an older version
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
    List<Service> services,
    Optional<Form> form) {
  public static final int FORMAT = 1;

  public Report {
    addresses = List.copyOf(addresses);
    services = List.copyOf(services);
  }

  /**
   * What takes packets of muxes on the server.
   *
   * @param kind "bpf" or "module"
   * @param iface where it is to be attached; absent with the module, which serves them all
   */
  public record Form(
      String kind, @JsonProperty("interface") Optional<String> iface, boolean attached) {
    /** Where it should be, in words. */
    public String place() {
      return iface.orElse(kind);
    }
  }

  /**
   * @param acceptQueue absent if no socket listens
   * @param opened since the last report that was answered; with {@code closed} it need not add up
   *     to the change of {@code established}, since events can be lost
   * @param signals since the agent began to count; absent if it cannot, or is of an older version
   */
  public record Service(
      String name,
      long established,
      long halfOpen,
      Optional<AcceptQueue> acceptQueue,
      long opened,
      long closed,
      Optional<Answer> answer,
      Optional<Connections> connections,
      Optional<Load> load,
      Optional<SignalCounts> signals) {}

  /**
   * How busy the server is, and what became of new connections that it could refuse; of services
   * whose connections have two buckets.
   *
   * @param busy by the latest reading; absent if there is none
   * @param offered since the last report that was answered, as {@code taken} and {@code passed}
   */
  public record Load(Optional<Long> busy, long offered, long taken, long passed) {}

  /**
   * Which connections there are, of a service that asks for them.
   *
   * @param memory that the changes refer to; empty before the first answer
   * @param mark the newest that the agent had when it wrote this; empty before the first answer
   * @param whole whether this is a part of a whole set, not of changes
   * @param first whether the whole set begins with it, whatever parts came before
   * @param last whether nothing is left to report that was old enough
   * @param opened flow hashes of 8 bytes, little-endian, in base64
   */
  public record Connections(
      String memory,
      String mark,
      boolean whole,
      boolean first,
      boolean last,
      String opened,
      String closed) {}

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

  /**
   * What the controller remembers of a server's connections of a service.
   *
   * @param memory its name; a server that has another one reports the whole set
   * @param mark by which the controller knows when the next report was written, at the earliest
   * @param refused why the report's connections were not used, if so
   */
  public record Remembered(
      String name,
      String memory,
      String mark,
      @JsonInclude(JsonInclude.Include.NON_ABSENT) Optional<String> refused) {}

  /** The answer to a report. */
  public record Reply(
      int format,
      String servicesVersion,
      int nextSeconds,
      List<Question> questions,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Remembered> connections) {}
}
