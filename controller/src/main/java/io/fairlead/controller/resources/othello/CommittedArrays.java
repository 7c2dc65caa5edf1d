// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.steering.othello.ArraysCodec;
import io.fairlead.controller.core.steering.othello.OthelloArrays;
import io.fairlead.controller.store.ArraysWrite;
import io.fairlead.controller.store.LatestArrays;
import io.fairlead.controller.store.LatestArrays.Source;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.repository.StoredService;
import java.util.List;
import java.util.Optional;
import java.util.function.LongToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The arrays of a service as they are committed, and how the next are written. Immutable.
 *
 * @param service its id
 * @param latest what ZooKeeper says
 * @param newest the arrays; their generation is that of {@code latest}
 * @param before the arrays before; empty if settled, or if there were none
 * @param wholeBytes of the whole that the newest start from
 * @param patchBytes of the patches since then
 */
public record CommittedArrays(
    int service,
    LatestArrays latest,
    OthelloArrays newest,
    Optional<OthelloArrays> before,
    long wholeBytes,
    long patchBytes) {
  private static final Logger LOG = LoggerFactory.getLogger(CommittedArrays.class);

  /** A reader has to read all patches after the whole. */
  static final int PATCHES_MAX = 32;

  /**
   * New arrays in bytes, and what is committed once they are written; empty if only others are
   * announced.
   */
  public record Next(ArraysWrite write, Optional<CommittedArrays> committed) {
    Next(ArraysWrite write, CommittedArrays committed) {
      this(write, Optional.of(committed));
    }

    /** That these may be read ahead of the generation that names them. */
    static Next announcing(Optional<LatestArrays> now, Source ahead) {
      return new Next(
          ArraysWrite.ofNothing(
              now.map(latest -> latest.with(ahead)).orElseGet(() -> LatestArrays.coming(ahead))),
          Optional.empty());
    }

    /** In a word. */
    String kind() {
      return write.whole().isPresent() ? "whole" : write.patch().isPresent() ? "patch" : "settle";
    }

    long bytes() {
      return write.size();
    }

    /** The same cells for a generation; what has no bytes of its own is for any. */
    Next numbered(long generation) {
      if (write.size() == 0) {
        return this;
      }
      ArraysWrite other = write.renumbered(generation);
      return new Next(other, committed.map(had -> had.renumbered(other.latest())));
    }
  }

  /**
   * Those that ZooKeeper holds for {@code stored}; empty before the first. If only those before are
   * damaged, they {@link #isBeforeLost are lost}.
   *
   * @throws StoreException.Damaged if the newest are damaged
   * @throws StoreException if they cannot be read
   */
  public static Optional<CommittedArrays> read(ServiceStore store, StoredService stored)
      throws StoreException {
    if (stored.state().arrays().flatMap(LatestArrays::committed).isEmpty()) {
      return Optional.empty();
    }
    LatestArrays latest = stored.state().arrays().get();
    ServiceConfig config = stored.image().config();
    List<byte[]> bytes = store.readArrays(config.name(), latest.newest());
    OthelloArrays newest = decode(config, latest.newest(), bytes);
    Optional<OthelloArrays> before = Optional.empty();
    if (latest.before().isPresent()) {
      try {
        before = Optional.of(read(store, config, latest.before().get()));
      } catch (StoreException.Damaged e) {
        LOG.warn("{}", e.getMessage());
      }
    }
    return Optional.of(
        new CommittedArrays(
            config.id(),
            latest,
            newest,
            before,
            bytes.get(0).length,
            bytes.stream().skip(1).mapToLong(patch -> patch.length).sum()));
  }

  private static OthelloArrays read(ServiceStore store, ServiceConfig config, Source source)
      throws StoreException {
    return decode(config, source, store.readArrays(config.name(), source));
  }

  /** Whether those before are named and only muxes have them. */
  public boolean isBeforeLost() {
    return latest.before().isPresent() && before.isEmpty();
  }

  /** What of these ZooKeeper no longer holds; empty if it has all. */
  Optional<String> damage(ServiceStore store, ServiceConfig config) throws StoreException {
    try {
      check(newest, read(store, config, latest.newest()));
      if (before.isPresent()) {
        check(before.get(), read(store, config, latest.before().orElseThrow()));
      }
      return Optional.empty();
    } catch (StoreException.Damaged e) {
      return Optional.of(e.getMessage());
    }
  }

  private static void check(OthelloArrays committed, OthelloArrays read)
      throws StoreException.Damaged {
    if (!read.equals(committed)) {
      throw new StoreException.Damaged("%s are others than were committed".formatted(read), null);
    }
  }

  private static OthelloArrays decode(ServiceConfig config, Source source, List<byte[]> bytes)
      throws StoreException {
    try {
      OthelloArrays arrays =
          ArraysCodec.decode(
              bytes.get(0), config.hash(), config.id(), source.whole(), config.buckets());
      for (int i = 0; i < source.patches().size(); i++) {
        arrays =
            ArraysCodec.decodePatch(bytes.get(i + 1), arrays, config.id(), source.patches().get(i));
      }
      return arrays;
    } catch (RefusedException e) {
      throw StoreException.Damaged.of(config.name(), e);
    }
  }

  /** How arrays are written that follow {@code now}: as a patch, if that is smaller by much. */
  static Next next(int service, Optional<CommittedArrays> now, OthelloArrays arrays) {
    long generation = arrays.generation();
    if (now.isPresent() && now.get().newest().isLike(arrays)) {
      CommittedArrays from = now.get();
      byte[] patch = ArraysCodec.encodePatch(service, arrays, from.newest());
      boolean isSmall = from.patchBytes() + patch.length <= from.wholeBytes();
      if (isSmall && from.latest().patches().size() < PATCHES_MAX) {
        LatestArrays latest = from.latest().patched(generation);
        return new Next(
            ArraysWrite.ofPatch(patch, latest),
            new CommittedArrays(
                service,
                latest,
                arrays,
                Optional.of(from.newest()),
                from.wholeBytes(),
                from.patchBytes() + patch.length));
      }
    }
    byte[] whole = ArraysCodec.encode(service, arrays);
    LatestArrays latest =
        now.map(from -> from.latest().replaced(generation))
            .orElseGet(() -> LatestArrays.first(generation));
    return new Next(
        ArraysWrite.ofWhole(whole, latest),
        new CommittedArrays(
            service, latest, arrays, now.map(CommittedArrays::newest), whole.length, 0));
  }

  /** How arrays are written that follow others which only muxes have. */
  static Next afterLost(int service, LatestArrays lost, OthelloArrays arrays) {
    byte[] whole = ArraysCodec.encode(service, arrays);
    LatestArrays latest = lost.replaced(arrays.generation());
    return new Next(
        ArraysWrite.ofWhole(whole, latest),
        new CommittedArrays(service, latest, arrays, Optional.empty(), whole.length, 0));
  }

  /** Without the arrays before. */
  Next settled() {
    LatestArrays now = latest.settled();
    return new Next(
        ArraysWrite.ofNothing(now),
        new CommittedArrays(service, now, newest, Optional.empty(), wholeBytes, patchBytes));
  }

  /** The same, all from wholes that are written again. */
  Next rewritten(LatestArrays now, long bytes) {
    return new Next(
        ArraysWrite.ofNothing(now), new CommittedArrays(service, now, newest, before, bytes, 0));
  }

  /** The same, of which the list says this. */
  CommittedArrays with(LatestArrays now) {
    return new CommittedArrays(service, now, newest, before, wholeBytes, patchBytes);
  }

  private CommittedArrays renumbered(LatestArrays now) {
    return new CommittedArrays(
        service, now, newest.withGeneration(now.generation()), before, wholeBytes, patchBytes);
  }

  /** What gives packets their first bucket, also before the first arrays. */
  static LongToIntFunction codes(Optional<CommittedArrays> arrays, int buckets) {
    return arrays.isPresent() ? arrays.get().newest()::code : lowBits(buckets);
  }

  /** What gives packets their second bucket; empty once settled. */
  public Optional<LongToIntFunction> codesBefore() {
    if (latest.isSettled()) {
      return Optional.empty();
    }
    return Optional.of(before.isPresent() ? before.get()::code : lowBits(newest.buckets()));
  }

  private static LongToIntFunction lowBits(int buckets) {
    return flowHash -> (int) flowHash & buckets - 1;
  }
}
