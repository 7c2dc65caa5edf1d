// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.fairlead.controller.core.image.Built;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A mux that is added. Of one that is not alive, all but its id is empty. {@code kind} is "c" or
 * "p4"; {@code address} is its outer IPv4 source, {@code address6} its IPv6 one. {@code serves} is
 * absent if it does not restrict what it serves. {@code needs} says of addresses that it must
 * reach, or sends from, what for: a VIP there would cut it off. {@code unreachable} has backends
 * that it can't send to, and the word for why; {@code unreachableMore} are left out. {@code
 * metrics} is absent if they are read on its host alone.
 */
@Built
public record MuxView(
    String id,
    @JsonInclude(JsonInclude.Include.NON_EMPTY) String kind,
    @JsonInclude(JsonInclude.Include.NON_EMPTY) String version,
    Optional<String> address,
    Optional<String> address6,
    List<String> ports,
    Optional<MuxServes> serves,
    Map<String, String> needs,
    Map<String, String> unreachable,
    int unreachableMore,
    Map<String, MuxService> services,
    Optional<MetricsUrl> metrics)
    implements MuxViewBuilder.With {
  static MuxView absent(String id) {
    return new MuxView(
        id,
        "",
        "",
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        Map.of(),
        Map.of());
  }

  /** Whether it has a node. */
  @JsonProperty("alive")
  public boolean isAlive() {
    return !version.isEmpty();
  }

  /** One that reaches all backends, and whose metrics are read on its host alone. */
  public MuxView(
      String id,
      String kind,
      String version,
      Optional<String> address,
      Optional<String> address6,
      List<String> ports,
      Optional<MuxServes> serves,
      Map<String, String> needs,
      Map<String, MuxService> services) {
    this(
        id,
        kind,
        version,
        address,
        address6,
        ports,
        serves,
        needs,
        Map.of(),
        0,
        services,
        Optional.empty());
  }

  /** With what it says of this service, and of no other. */
  MuxView only(String service) {
    MuxService known = services.get(service);
    return withServices(known == null ? Map.of() : Map.of(service, known));
  }

  /** Its outer sources. */
  @JsonIgnore
  public List<String> addresses() {
    return Stream.concat(address.stream(), address6.stream()).toList();
  }
}
