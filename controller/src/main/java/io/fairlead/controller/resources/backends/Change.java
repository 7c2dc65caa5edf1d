// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.backends;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.util.Optional;

/** One change of a service's pool. Weights are 0..65535; addresses are IPv4 or IPv6 literals. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "op")
@JsonSubTypes({
  @JsonSubTypes.Type(value = Change.Add.class, name = "add"),
  @JsonSubTypes.Type(value = Change.Weight.class, name = "weight"),
  @JsonSubTypes.Type(value = Change.Remove.class, name = "remove")
})
public sealed interface Change {
  int DEFAULT_WEIGHT = 100;

  int id();

  /**
   * @param slowStartSeconds in place of the service's
   * @param foreign whether it is an SRv6 end-point that does not know the protocol
   */
  @JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
  record Add(
      int id, String address, int weight, Optional<Integer> slowStartSeconds, boolean foreign)
      implements Change {
    /** As the service starts backends. */
    public Add(int id, String address, int weight) {
      this(id, address, weight, Optional.empty());
    }

    public Add(int id, String address, int weight, Optional<Integer> slowStartSeconds) {
      this(id, address, weight, slowStartSeconds, false);
    }

    @JsonCreator
    static Add read(
        @JsonProperty("id") int id,
        @JsonProperty("address") String address,
        @JsonProperty("weight") Integer weight,
        @JsonProperty("slowStartSeconds") Integer slowStartSeconds,
        @JsonProperty("foreign") Boolean foreign) {
      return new Add(
          id,
          address,
          weight == null ? DEFAULT_WEIGHT : weight,
          Optional.ofNullable(slowStartSeconds),
          foreign != null && foreign);
    }
  }

  record Weight(int id, int weight) implements Change {}

  /**
   * @param dead whether the machine is gone: nothing is chained to it any more. Then the backend
   *     may also have been removed before, as long as packets are still chained to it.
   */
  @JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
  record Remove(int id, boolean dead) implements Change {
    /** Of a machine that runs on. */
    public Remove(int id) {
      this(id, false);
    }

    @JsonCreator
    static Remove read(@JsonProperty("id") int id, @JsonProperty("dead") Boolean dead) {
      return new Remove(id, dead != null && dead);
    }
  }

  /**
   * Adds the backend, or sets the weight of the live one under this id, which must have this
   * address. Which of the two is decided where the change is applied.
   *
   * @param slowStartSeconds of a backend that is added, in place of the service's
   * @param foreign as of the live one
   */
  record Put(
      int id, String address, int weight, Optional<Integer> slowStartSeconds, boolean foreign)
      implements Change {}
}
