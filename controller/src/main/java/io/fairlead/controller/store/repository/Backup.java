// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.repository;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.ServiceImage;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.ring.DeltaCodec;
import io.fairlead.controller.core.ring.RefusedException;
import io.fairlead.controller.core.ring.Ring;
import io.fairlead.controller.store.NodeJson;
import io.fairlead.controller.store.ServiceIds;
import io.fairlead.controller.store.StoreException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Everything needed to rebuild a cluster when all of ZooKeeper is lost: not only what operators
 * configured but also what followed from it, such as the ids of services, the hash keys and the
 * owner of every bucket. With the same buckets no connection breaks.
 *
 * @param cluster the name by which muxes recognize the cluster that they serve
 * @param taken ISO 8601
 * @param serviceIds which ids of services are free, as in ZooKeeper
 * @param settings of the whole cluster, as in ZooKeeper; absent if there are none
 * @param muxes that are added, by ascending id, with their logins' digests
 * @param services by ascending id
 */
@JsonPropertyOrder({
  "format",
  "cluster",
  "taken",
  "epoch",
  "serviceIds",
  "settings",
  "muxes",
  "services"
})
@JsonInclude(JsonInclude.Include.NON_ABSENT)
public record Backup(
    @JsonProperty(required = true) int format,
    @JsonProperty(required = true) String cluster,
    @JsonProperty(required = true) String taken,
    @JsonProperty(required = true) long epoch,
    @JsonProperty(required = true) ServiceIds serviceIds,
    Optional<JsonNode> settings,
    List<AddedMux> muxes,
    @JsonProperty(required = true) List<Service> services) {
  public static final int FORMAT = 3;

  /**
   * How far services start above what a mux has applied, if that is above what the clock gives: as
   * the clock says nothing, other muxes that are away may be further.
   */
  public static final long AHEAD = 1_000_000;

  /** How far a mux may be above what the clock gives: 194 days, at a commit each second. */
  public static final long TRUSTED = 1L << 24;

  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  public Backup {
    settings = Optional.ofNullable(settings).flatMap(s -> s).filter(s -> !s.isNull());
    muxes = muxes == null ? List.of() : List.copyOf(muxes);
    services = List.copyOf(services);
  }

  /** Settings of the whole cluster. */
  public ClusterSettings clusterSettings() throws StoreException {
    return settings.isPresent()
        ? NodeJson.readSettings(Service.bytes(settings.get()))
        : ClusterSettings.NONE;
  }

  /**
   * @param config the service's settings as in ZooKeeper
   * @param upkeep its rebalance or defragmentation and measured costs, as in ZooKeeper; absent if
   *     it never had one
   * @param transitions of its backends, as in ZooKeeper; absent if there never was one
   * @param snapshot of the ring in its generation (protocol/README.md §5), base64 in JSON
   */
  @JsonPropertyOrder({"generation", "config", "upkeep", "transitions", "snapshot"})
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  public record Service(
      @JsonProperty(required = true) long generation,
      @JsonProperty(required = true) JsonNode config,
      Optional<JsonNode> upkeep,
      Optional<JsonNode> transitions,
      @JsonProperty(required = true) byte[] snapshot) {
    static Service of(ServiceImage image) {
      return new Service(
          image.ring().generation(),
          MAPPER.valueToTree(image.config()),
          image.upkeep().map(MAPPER::valueToTree),
          Optional.of(image.transitions())
              .filter(state -> !state.equals(Transitions.NONE))
              .map(MAPPER::valueToTree),
          DeltaCodec.encode(image.ring()));
    }

    ServiceImage image() throws RefusedException, StoreException {
      ServiceConfig settings = NodeJson.readConfig(bytes(config));
      Ring ring =
          DeltaCodec.decodeSnapshot(snapshot, settings.id(), generation, settings.buckets());
      ServiceImage image = new ServiceImage(settings, ring);
      if (isThere(upkeep)) {
        image = image.withUpkeep(NodeJson.readUpkeep(bytes(upkeep.get())));
      }
      return isThere(transitions)
          ? image.withTransitions(NodeJson.readTransitions(bytes(transitions.get())))
          : image;
    }

    /** Jackson reads an absent one as null. */
    private static boolean isThere(Optional<JsonNode> state) {
      return state.isPresent() && !state.get().isNull();
    }

    private static byte[] bytes(JsonNode state) {
      return state.toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  /**
   * The caller reads {@code epoch} and {@code ids} after the images, so that they are not older
   * than these.
   */
  public static Backup of(
      String cluster,
      Instant taken,
      long epoch,
      ServiceIds ids,
      ClusterSettings settings,
      List<AddedMux> muxes,
      Collection<ServiceImage> images) {
    return new Backup(
        FORMAT,
        cluster,
        taken.toString(),
        epoch,
        ids,
        Optional.of(settings)
            .filter(some -> !some.equals(ClusterSettings.NONE))
            .map(MAPPER::valueToTree),
        muxes,
        images.stream()
            .sorted(Comparator.comparingInt(image -> image.config().id()))
            .map(Service::of)
            .toList());
  }

  /**
   * What a restore writes.
   *
   * @param services each at {@code firstGeneration}
   * @param firstGeneration also of services that are created later: these may get ids that services
   *     had which were created after the backup, and whose generations servers have seen
   * @param ids that are free afterwards
   */
  public record Restored(List<ServiceImage> services, long firstGeneration, ServiceIds ids) {}

  /** All services as they were, of a backup that was read. */
  public List<ServiceImage> images() {
    List<ServiceImage> images = new ArrayList<>();
    for (Service service : services) {
      try {
        images.add(service.image());
      } catch (RefusedException | StoreException e) {
        throw new IllegalStateException("a backup that was read is damaged", e);
      }
    }
    return images;
  }

  /**
   * All services as they are to be restored. A backup may be older than what muxes have applied and
   * servers have seen, which drop what comes from a lower generation; and any backup may be
   * restored again, also an older one than the last time. So generations follow the clock, which is
   * higher at every restore: services start at the Unix second, since they commit less than once a
   * second on average. A cluster that was ahead of the clock when it was backed up stays so. A
   * clock that is slow, or a burst of commits since, is caught by the muxes.
   *
   * @param applied the highest generation that a mux reports, by mux, also of services that the
   *     backup does not have
   * @throws IllegalArgumentException if the clock is before the backup, or a generation is too high
   */
  public Restored restored(Instant now, Map<String, Long> applied) throws StoreException {
    if (now.isBefore(Instant.parse(taken))) {
      throw new IllegalArgumentException(
          "--restore is refused: this machine's clock is at %s; allowed: after %s, when the backup was taken"
              .formatted(now, taken));
    }
    long first = firstGeneration(now, applied);
    List<ServiceImage> images = new ArrayList<>();
    for (Service service : services) {
      try {
        images.add(service.image().startingAt(first));
      } catch (RefusedException e) {
        throw new StoreException("the backup is damaged: " + e.getMessage(), e);
      }
    }
    Set<Integer> used =
        images.stream().map(image -> image.config().id()).collect(Collectors.toSet());
    return new Restored(images, first, serviceIds.restored(now, first, used));
  }

  private long firstGeneration(Instant now, Map<String, Long> applied) {
    long saved = services.stream().mapToLong(Service::generation).max().orElse(0);
    long clocked =
        now.getEpochSecond() + Math.max(0, saved - Instant.parse(taken).getEpochSecond());
    applied.forEach((mux, generation) -> checkTrusted(mux, generation, clocked));
    long seen = applied.values().stream().mapToLong(Long::longValue).max().orElse(0);
    long first = seen < clocked ? clocked : seen + AHEAD;
    if (first > Ring.GENERATION_MAX - AHEAD) {
      throw new IllegalArgumentException(
          ("--restore is refused: services would start at generation %d (backup: %d, muxes: %d,"
                  + " clock: %d); allowed: at most %d")
              .formatted(first, saved, seen, now.getEpochSecond(), Ring.GENERATION_MAX - AHEAD));
    }
    return first;
  }

  /** Services would start so high for good, at the word of one mux. */
  private static void checkTrusted(String mux, long generation, long clocked) {
    if (generation > clocked + TRUSTED) {
      throw new IllegalArgumentException(
          ("--restore is refused: mux '%s' reports generation %d, and by the clock services start"
                  + " at %d; allowed: at most %d, a clock that is right, or --without-mux %s,"
                  + " which leaves the mux out")
              .formatted(mux, generation, clocked, clocked + TRUSTED, mux));
    }
  }

  /**
   * The same without some of its muxes.
   *
   * @throws IllegalArgumentException if it does not have one
   */
  public Backup without(Set<String> ids) {
    Set<String> known =
        muxes.stream().map(AddedMux::id).collect(Collectors.toCollection(TreeSet::new));
    for (String id : ids) {
      if (!known.contains(id)) {
        throw new IllegalArgumentException(
            "--without-mux '%s' is refused; allowed: a mux of the backup: %s"
                .formatted(id, String.join(", ", known)));
      }
    }
    return new Backup(
        format,
        cluster,
        taken,
        epoch,
        serviceIds,
        settings,
        muxes.stream().filter(mux -> !ids.contains(mux.id())).toList(),
        services);
  }

  public byte[] json() {
    try {
      return MAPPER.writeValueAsBytes(this);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a backup has no JSON", e);
    }
  }

  /**
   * Reads and checks all of it, including each ring, so that a restore does not fail halfway.
   *
   * @throws IllegalArgumentException naming the file, what is wrong and what is allowed
   */
  public static Backup read(Path file) {
    String name = "--restore '%s'".formatted(file);
    try {
      return read(name, Files.readString(file));
    } catch (IOException e) {
      throw refused(name, firstLine(e));
    }
  }

  private static String firstLine(IOException e) {
    String why = e.getMessage() == null ? e.toString() : e.getMessage();
    return why.lines().findFirst().orElse("");
  }

  /**
   * The same of a text.
   *
   * @param file where it is from, as the messages of refusals begin
   */
  public static Backup read(String file, String text) {
    Backup backup;
    try {
      JsonNode all = MAPPER.readTree(text);
      if (all.isMissingNode()) {
        throw refused(file, "it is empty");
      }
      if (all.has("format") && all.get("format").asInt() != FORMAT) {
        throw refused(file, "its format is %s, not %d".formatted(all.get("format"), FORMAT));
      }
      backup = MAPPER.treeToValue(all, Backup.class);
    } catch (JsonProcessingException e) {
      throw refused(file, firstLine(e));
    }
    try {
      Instant.parse(backup.taken());
    } catch (DateTimeParseException e) {
      throw refused(file, "taken is '%s'".formatted(backup.taken()));
    }
    if (!backup.cluster().matches("[0-9a-f]{32}")) {
      throw refused(file, "cluster is '%s'".formatted(backup.cluster()));
    }
    try {
      backup.clusterSettings();
    } catch (StoreException e) {
      throw refused(file, e.getMessage());
    }
    Set<String> names = new HashSet<>();
    int last = 0;
    for (Service service : backup.services()) {
      ServiceConfig config;
      try {
        config = service.image().config();
      } catch (RefusedException | StoreException | IllegalArgumentException e) {
        String name = service.config().path("name").asText();
        throw refused(file, "service '%s': %s".formatted(name, e.getMessage()));
      }
      if (config.id() <= last || !backup.serviceIds().isTaken(config.id())) {
        throw refused(file, "service '%s' has the id %d".formatted(config.name(), config.id()));
      }
      if (!names.add(config.name())) {
        throw refused(file, "service '%s' is there twice".formatted(config.name()));
      }
      last = config.id();
    }
    return backup;
  }

  private static IllegalArgumentException refused(String file, String what) {
    return new IllegalArgumentException(
        "%s is refused: %s; allowed: what 'fairleadctl backup' of this version has written"
            .formatted(file, what));
  }
}
