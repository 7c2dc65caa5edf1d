// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.steering.othello.Claims;
import io.fairlead.controller.core.steering.othello.Pins.Pin;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongToIntFunction;

/**
 * How packets of a connection go on reaching all servers that claim it. It is not known whose it
 * is. Either a bucket's former owners lead to all of them: the connection must keep that one. Or
 * only both of its codes do: it must keep both.
 *
 * <p>A server that got the bucket after another had claimed the connection as its owner is wrong:
 * that one would have said that the connection had ended. Arrays need not keep it for both.
 *
 * @param owners who may have connections
 * @param newest gives packets their first bucket
 * @param before gives them their second one; empty once settled
 */
record SharedBuckets(
    ServiceImage image,
    Set<Integer> owners,
    LongToIntFunction newest,
    Optional<LongToIntFunction> before)
    implements Claims.Shared {

  @Override
  public Optional<Pin> pin(long key, int holder, boolean isFirm, Set<Integer> claimants) {
    int first = newest.applyAsInt(key);
    int second = before.isPresent() ? before.get().applyAsInt(key) : first;
    boolean isReached = leads(first, holder) || leads(second, holder); // else it has lost it anyway
    boolean holdsFirst = !isReached || leads(first, holder);
    boolean holdsSecond = !isReached || leads(second, holder);
    boolean isAny = false;
    boolean allByFirst = true;
    boolean allBySecond = true;
    for (int claimant : claimants) {
      if (!owners.contains(claimant)) {
        continue;
      }
      boolean claimsFirst = leads(first, claimant);
      boolean claimsSecond = leads(second, claimant);
      boolean isWrongByFirst = isFirm && isLater(first, holder, claimant);
      boolean isWrongBySecond = isFirm && isLater(second, holder, claimant);
      boolean byFirst = holdsFirst && claimsFirst && !isWrongByFirst;
      boolean bySecond = holdsSecond && claimsSecond && !isWrongBySecond;
      // It is not known by which of its buckets the holder was the owner.
      boolean isWrong =
          isReached && (isWrongByFirst || !holdsFirst) && (isWrongBySecond || !holdsSecond);
      boolean byBoth =
          first != second
              && !isWrong
              && ((holdsFirst && claimsSecond) || (holdsSecond && claimsFirst));
      if (byFirst || bySecond || byBoth) {
        isAny = true;
        allByFirst &= byFirst;
        allBySecond &= bySecond;
      }
    }
    if (!isAny) {
      return Optional.empty();
    }
    boolean isSplit = !allByFirst && !allBySecond;
    return Optional.of(new Pin(allByFirst ? first : second, isSplit));
  }

  /** Whether the claimant had the bucket after the holder. */
  private boolean isLater(int bucket, int holder, int claimant) {
    int later = Claimants.place(image.ring(), bucket, claimant);
    return later >= 0 && Claimants.place(image.ring(), bucket, holder) > later;
  }

  /** Whether packets with this bucket reach the server if none before it knows the connection. */
  private boolean leads(int bucket, int server) {
    return Claimants.place(image.ring(), bucket, server) >= 0;
  }
}
