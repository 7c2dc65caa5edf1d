// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.fairlead.controller.core.words.HealthKind;
import java.util.Optional;

/**
 * How a service's backends are probed along the data path (protocol/README.md §13). Settings of
 * other kinds are absent.
 *
 * @param port empty: each of the service's ports that the kind is for
 * @param host in the request, and for TLS; empty: the VIP
 * @param verify whether the certificate is checked, of {@code https}
 * @param send hex digits, of {@code udp}
 * @param command a file in a folder on each mux's host
 * @param rise successes in a row after which a backend is up
 * @param jitterPercent of the interval by which it varies, to either side
 * @param action what follows from the results; probes ignore it
 */
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record HealthCheck(
    @JsonProperty("kind") HealthKind kind,
    @JsonProperty("port") Optional<Integer> port,
    @JsonProperty("path") Optional<String> path,
    @JsonProperty("host") Optional<String> host,
    @JsonProperty("verify") Optional<Boolean> verify,
    @JsonProperty("send") Optional<String> send,
    @JsonProperty("command") Optional<String> command,
    @JsonProperty("expect") Optional<Expect> expect,
    @JsonProperty("intervalMillis") int intervalMillis,
    @JsonProperty("timeoutMillis") int timeoutMillis,
    @JsonProperty("rise") int rise,
    @JsonProperty("fall") int fall,
    @JsonProperty("jitterPercent") int jitterPercent,
    @JsonInclude(JsonInclude.Include.NON_NULL) @JsonProperty("action") Action action) {

  /** VIPs times ports at which each backend is probed, at most. */
  public static final int ENDPOINTS_MAX = 256;

  public HealthCheck {
    port = or(port);
    path = or(path);
    host = or(host);
    verify = or(verify);
    send = or(send);
    command = or(command);
    expect = or(expect);
    action = action == null ? Action.DEFAULT : action;
  }

  /**
   * What becomes of backends that are down.
   *
   * @param panicPercent of the backends that have to be healthy; below, health is ignored
   * @param maxOut how many may be out at once, as "2" or, of all, as "25%"
   * @param withdraw whether the last backend may go out too, so that muxes withdraw the VIPs
   * @param dead true: a server that is silent to probes and whose agent is silent is removed as
   *     dead; empty: it is not
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Action(
      @JsonProperty("panicPercent") int panicPercent,
      @JsonProperty("maxOut") String maxOut,
      @JsonProperty("withdraw") boolean withdraw,
      @JsonProperty("dead") Optional<Boolean> dead) {
    public static final Action DEFAULT = new Action(50, "50%", false, Optional.empty());

    /** With {@code withdraw}. */
    public static final Action WITHDRAWING = new Action(0, "100%", true, Optional.empty());

    public Action {
      dead = or(dead).filter(allowed -> allowed);
    }
  }

  /**
   * What an answer must have.
   *
   * @param status HTTP statuses and ranges of them, {@code 200-299,401}
   * @param body text that the body has
   * @param hex bytes that a datagram has, as hex digits
   */
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Expect(
      @JsonProperty("status") Optional<String> status,
      @JsonProperty("body") Optional<String> body,
      @JsonProperty("hex") Optional<String> hex) {
    public Expect {
      status = or(status);
      body = or(body);
      hex = or(hex);
    }
  }

  /** At how many VIPs and ports each backend of a service is probed. */
  public int endpoints(ServiceConfig config) {
    long ports =
        port.isPresent()
            ? 1
            : config.ports().stream().filter(each -> kind.isFor(each.protocol())).count();
    return Math.toIntExact(ports * config.vips().size());
  }

  /** A key that JSON does not have is null to a record. */
  private static <T> Optional<T> or(Optional<T> value) {
    return value == null ? Optional.empty() : value;
  }
}
