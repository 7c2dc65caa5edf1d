// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.muxes;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;

/** The {@link SettledMoves} of all services, for everyone who asks whether a report counts. */
public final class SettledServices {
  private final Supplier<MuxPresence> muxes;
  private final LongSupplier seconds;
  private final LongUnaryOperator age;
  private final SettledMoves.Told told;
  private final Function<ServiceConfig, SettledMoves.Sharing> sharing;

  /** By the service's id. */
  private final Map<Integer, SettledMoves> services = new ConcurrentHashMap<>();

  /**
   * @param seconds the monotonic clock of {@code muxes}
   * @param age for how many seconds at least a commit of a Unix second has existed
   * @param sharing which others have VIPs of a service
   */
  public SettledServices(
      Supplier<MuxPresence> muxes,
      LongSupplier seconds,
      LongUnaryOperator age,
      SettledMoves.Told told,
      Function<ServiceConfig, SettledMoves.Sharing> sharing) {
    this.sharing = sharing;
    this.told = told;
    this.muxes = muxes;
    this.seconds = seconds;
    this.age = age;
  }

  /** Those of a controller that does not lead: it has seen none. */
  public static SettledServices none() {
    return new SettledServices(
        () -> MuxPresence.NONE,
        () -> 0,
        committed -> 0,
        SettledMoves.Told.AT_ONCE,
        service -> SettledMoves.Sharing.NONE);
  }

  /**
   * Those of a service, having taken note of its image and of where muxes are now. It may have
   * muxes told what is settled, so only the leader calls it, for what it does by itself.
   */
  public SettledMoves see(ServiceImage image) {
    SettledMoves moves =
        services.computeIfAbsent(image.config().id(), service -> new SettledMoves(told));
    long committed = image.ring().committed();
    moves.see(
        image,
        muxes.get(),
        sharing.apply(image.config()),
        seconds.getAsLong(),
        age.applyAsLong(committed));
    return moves;
  }

  /** As {@link #see} left those of a service; nothing of it is settled if it was not called. */
  public SettledMoves seen(ServiceImage image) {
    return services.getOrDefault(image.config().id(), new SettledMoves(told));
  }
}
