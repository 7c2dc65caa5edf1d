// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.core.image.RecordKeys;
import io.fairlead.controller.core.image.ServiceConfig;
import io.fairlead.controller.core.image.Transitions;
import io.fairlead.controller.core.image.UpkeepState;
import io.fairlead.controller.core.words.AssignmentMethod;
import io.fairlead.controller.store.Note.KeptAnswer;
import java.io.IOException;

/** The JSON of configuration nodes: unknown keys are ignored, an unknown format is refused. */
public final class NodeJson {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .build();

  /** For types with keys that may be absent. */
  private static final ObjectMapper TOLERANT =
      MAPPER.copy().disable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES);

  private NodeJson() {}

  static byte[] write(ServiceConfig config) {
    return bytes(config);
  }

  static byte[] write(ClusterSettings settings) {
    return bytes(settings);
  }

  public static ClusterSettings readSettings(byte[] json) throws StoreException {
    ClusterSettings settings = read(json, ClusterSettings.class, "settings");
    if (settings.format() != ClusterSettings.FORMAT) {
      throw new StoreException("settings have the unknown format " + settings.format());
    }
    return settings;
  }

  static byte[] write(UpkeepState state) {
    return bytes(state);
  }

  public static UpkeepState readUpkeep(byte[] json) throws StoreException {
    UpkeepState state = read(json, UpkeepState.class, "upkeep");
    if (state.format() != UpkeepState.FORMAT) {
      throw new StoreException("upkeep has the unknown format " + state.format());
    }
    return state;
  }

  static byte[] write(LatestArrays arrays) {
    return bytes(arrays);
  }

  static LatestArrays readLatestArrays(byte[] json) throws StoreException {
    LatestArrays arrays = read(json, LatestArrays.class, "latest_arrays");
    if (arrays.format() != LatestArrays.FORMAT) {
      throw new StoreException("latest_arrays has the unknown format " + arrays.format());
    }
    return arrays;
  }

  static byte[] write(Transitions transitions) {
    return bytes(transitions);
  }

  public static Transitions readTransitions(byte[] json) throws StoreException {
    Transitions transitions = read(json, Transitions.class, "transitions");
    if (transitions.format() != Transitions.FORMAT) {
      throw new StoreException("transitions have the unknown format " + transitions.format());
    }
    return transitions;
  }

  static byte[] write(Loads loads) {
    return bytes(loads);
  }

  static Loads readLoads(byte[] json) throws StoreException {
    Loads loads = read(json, Loads.class, "loads");
    if (loads.format() != Loads.FORMAT) {
      throw new StoreException("loads have the unknown format " + loads.format());
    }
    return loads;
  }

  static byte[] write(Settled settled) {
    return bytes(settled);
  }

  static Settled readSettled(byte[] json) throws StoreException {
    Settled settled = read(json, Settled.class, "settled");
    if (settled.format() != Settled.FORMAT) {
      throw new StoreException("settled has the unknown format " + settled.format());
    }
    return settled;
  }

  static byte[] write(ServiceIds ids) {
    return bytes(ids);
  }

  static ServiceIds readServiceIds(byte[] json) throws StoreException {
    ServiceIds ids = read(json, ServiceIds.class, "service_ids");
    if (ids.format() != ServiceIds.FORMAT) {
      throw new StoreException("service_ids has the unknown format %d".formatted(ids.format()));
    }
    return ids;
  }

  static byte[] write(MuxStore.Entry entry) {
    return bytes(entry);
  }

  static MuxStore.Entry readMuxEntry(byte[] json) throws StoreException {
    MuxStore.Entry entry = read(json, MuxStore.Entry.class, "entry of a mux");
    if (entry.format() != MuxStore.Entry.FORMAT) {
      throw new StoreException("the entry of a mux has the unknown format " + entry.format());
    }
    return entry;
  }

  static byte[] write(AuditEntry entry) {
    return bytes(entry);
  }

  static byte[] write(KeptAnswer kept) {
    return bytes(kept);
  }

  static byte[] write(Leader leader) {
    return bytes(leader);
  }

  static Leader readLeader(byte[] json) throws StoreException {
    return read(json, Leader.class, "leader");
  }

  static AuditEntry readEntry(byte[] json) throws StoreException {
    return read(json, AuditEntry.class, "audit record");
  }

  static KeptAnswer readAnswer(byte[] json) throws StoreException {
    return read(json, KeptAnswer.class, "answer");
  }

  private static <T> T read(byte[] json, Class<T> type, String what) throws StoreException {
    try {
      T value = TOLERANT.readValue(json, type);
      if (value == null) {
        throw new StoreException(what + " is not readable: it is null");
      }
      return value;
    } catch (IOException e) {
      throw new StoreException(what + " is not readable: " + e.getMessage(), e);
    }
  }

  public static ServiceConfig readConfig(byte[] json) throws StoreException {
    try {
      JsonNode node = MAPPER.readTree(json);
      if (node instanceof ObjectNode keys) {
        RecordKeys.complete(keys, ServiceConfig.class);
        keys.putIfAbsent("assignment", keys.textNode(AssignmentMethod.BEAMER.word()));
      }
      // Checked before the keys, which another format may have renamed.
      if (node.path("format").asInt() != ServiceConfig.FORMAT) {
        throw new StoreException(
            "config has the unknown format %s; allowed: %d"
                .formatted(node.path("format"), ServiceConfig.FORMAT));
      }
      return MAPPER.treeToValue(node, ServiceConfig.class);
    } catch (IOException e) {
      throw new StoreException("config is not readable: " + e.getMessage(), e);
    }
  }

  private static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("%s has no JSON".formatted(value), e);
    }
  }
}
