// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Which generations hold a service's Othello arrays, as in its ZooKeeper node (protocol/README.md
 * §12): those of {@code generation} are the newest. Before the first, it only says what is written
 * ahead.
 *
 * @param previous the generation of the arrays before, 0 if there were none; empty once settled
 * @param whole the generation whose whole arrays the newest start from
 * @param patches generations whose patches follow, in order; each is based on the one before
 * @param previousWhole of the arrays before, if they are not on the way to the newest
 * @param aheadWhole of arrays that are written and not named yet: readers may read them ahead
 */
@JsonPropertyOrder({
  "format",
  "generation",
  "previous",
  "whole",
  "patches",
  "previousWhole",
  "previousPatches",
  "aheadWhole",
  "aheadPatches"
})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record LatestArrays(
    int format,
    long generation,
    Optional<Long> previous,
    long whole,
    List<Long> patches,
    Optional<Long> previousWhole,
    Optional<List<Long>> previousPatches,
    Optional<Long> aheadWhole,
    Optional<List<Long>> aheadPatches) {
  public static final int FORMAT = 1;

  /** What {@code previous} says before the first arrays: buckets by the low bits of the hash. */
  public static final long NONE = 0;

  private static final Source NOTHING = new Source(NONE, List.of());

  public LatestArrays {
    patches = List.copyOf(patches);
  }

  /** Without arrays that are written ahead. */
  private LatestArrays(
      long generation,
      Optional<Long> previous,
      Source newest,
      Optional<Long> previousWhole,
      Optional<List<Long>> previousPatches) {
    this(
        FORMAT,
        generation,
        previous,
        newest.whole(),
        newest.patches(),
        previousWhole,
        previousPatches,
        Optional.empty(),
        Optional.empty());
  }

  /** How the bytes of one set of arrays are made: the whole of a generation, then patches. */
  public record Source(long whole, List<Long> patches) {
    /** That of the arrays. */
    public long generation() {
      return patches.isEmpty() ? whole : patches.get(patches.size() - 1);
    }
  }

  /** The first arrays of a service. */
  public static LatestArrays first(long generation) {
    return new LatestArrays(
        generation,
        Optional.of(NONE),
        new Source(generation, List.of()),
        Optional.empty(),
        Optional.empty());
  }

  /** With new arrays that a patch makes of the newest. */
  public LatestArrays patched(long next) {
    List<Long> more = new ArrayList<>(patches);
    more.add(next);
    return new LatestArrays(
        next, Optional.of(generation), new Source(whole, more), Optional.empty(), Optional.empty());
  }

  /**
   * The same arrays under another generation, by a patch that changes nothing. So a generation can
   * name what was written beside earlier ones.
   */
  public LatestArrays carried(long next) {
    List<Long> more = new ArrayList<>(patches);
    more.add(next);
    return new LatestArrays(
        next, previous, new Source(whole, more), previousWhole, previousPatches);
  }

  /** The same arrays, the newest written again as a whole, those before as {@code before} says. */
  public LatestArrays rewritten(Optional<Source> before) {
    return new LatestArrays(
        generation,
        previous,
        new Source(generation, List.of()),
        before.map(Source::whole),
        before.map(Source::patches));
  }

  /** With new arrays that are written as a whole. */
  public LatestArrays replaced(long next) {
    return new LatestArrays(
        next,
        Optional.of(generation),
        new Source(next, List.of()),
        Optional.of(whole),
        Optional.of(patches));
  }

  /** The same with another number for the newest arrays, which are not committed yet. */
  public LatestArrays renumbered(long next) {
    return new LatestArrays(
        next,
        previous,
        new Source(
            whole == generation ? next : whole,
            patches.stream().map(patch -> patch == generation ? next : patch).toList()),
        previousWhole,
        previousPatches);
  }

  /** Without the arrays before. */
  public LatestArrays settled() {
    return new LatestArrays(
        generation, Optional.empty(), newest(), Optional.empty(), Optional.empty());
  }

  /** Before the first arrays, that these may be read ahead. */
  public static LatestArrays coming(Source ahead) {
    return new LatestArrays(NONE, Optional.empty(), NOTHING, Optional.empty(), Optional.empty())
        .with(ahead);
  }

  /** The same with nothing written ahead; empty before the first arrays. */
  public Optional<LatestArrays> committed() {
    return generation == NONE
        ? Optional.empty()
        : Optional.of(
            new LatestArrays(generation, previous, newest(), previousWhole, previousPatches));
  }

  /** With others that readers may read ahead of the generation that names them. */
  public LatestArrays with(Source ahead) {
    return new LatestArrays(
        FORMAT,
        generation,
        previous,
        whole,
        patches,
        previousWhole,
        previousPatches,
        Optional.of(ahead.whole()),
        Optional.of(ahead.patches()));
  }

  /** What is written ahead, if anything. */
  public Optional<Source> ahead() {
    return aheadWhole.map(
        first -> new Source(first, aheadPatches.map(List::copyOf).orElse(List.of())));
  }

  @JsonIgnore
  public boolean isSettled() {
    return previous.isEmpty();
  }

  /** What the newest arrays are made of. */
  public Source newest() {
    return new Source(whole, patches);
  }

  /** What the arrays before are made of; empty if there are none or settled. */
  public Optional<Source> before() {
    long wanted = previous.orElse(NONE);
    if (wanted == NONE) {
      return Optional.empty();
    }
    if (previousWhole.isPresent()) {
      return Optional.of(
          new Source(previousWhole.get(), previousPatches.map(List::copyOf).orElse(List.of())));
    }
    return Optional.of(
        new Source(whole, patches.stream().takeWhile(patch -> patch <= wanted).toList()));
  }

  /** The generations that must be kept for it. */
  SortedSet<Long> named() {
    SortedSet<Long> named = new TreeSet<>(patches);
    named.add(whole);
    previousWhole.ifPresent(named::add);
    previousPatches.ifPresent(named::addAll);
    aheadWhole.ifPresent(named::add);
    aheadPatches.ifPresent(named::addAll);
    return named;
  }
}
