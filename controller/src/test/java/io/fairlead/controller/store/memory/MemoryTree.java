// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.memory;

import io.fairlead.controller.store.Node;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Stat;
import io.fairlead.controller.store.Version;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The nodes that several {@link MemoryStore}s share: what a server of theirs would have. */
public final class MemoryTree {
  private static final String ROOT = "";

  /**
   * @param session whose end ends it; 0: none
   * @param numbers how many nodes below it were created
   */
  record Entry(
      byte[] data,
      int writes,
      long revision,
      Instant created,
      Instant written,
      long session,
      int numbers) {
    Entry written(byte[] newData, long newRevision, Instant now) {
      return new Entry(newData, writes + 1, newRevision, created, now, session, numbers);
    }

    Entry numbered() {
      return new Entry(data, writes, revision, created, written, session, numbers + 1);
    }
  }

  private final InstantSource clock;
  private final List<MemoryStore> clients = new ArrayList<>();
  private NavigableMap<String, Entry> nodes = new TreeMap<>();
  private long revision;
  private long sessions;

  public MemoryTree(InstantSource clock) {
    this.clock = clock;
    nodes.put(ROOT, entry(new byte[0], 0, 0));
  }

  /** A client with a session of its own, not started. */
  public synchronized MemoryStore client() {
    MemoryStore client = new MemoryStore(this);
    clients.add(client);
    return client;
  }

  synchronized long newSession() {
    return ++sessions;
  }

  synchronized void drop(MemoryStore client) {
    clients.remove(client);
  }

  /** Its ephemeral nodes go. */
  void end(long session) throws NodeException {
    List<Operation> deletes = new ArrayList<>();
    synchronized (this) {
      nodes.forEach(
          (path, entry) -> {
            if (entry.session() == session) {
              deletes.add(Operation.delete(path));
            }
          });
      write(deletes, session);
    }
  }

  synchronized Optional<Node> node(String path) {
    return Optional.ofNullable(nodes.get(key(path)))
        .map(
            entry ->
                new Node(
                    path,
                    entry.data(),
                    new Stat(
                        Version.after(entry.writes()),
                        entry.revision(),
                        entry.created(),
                        entry.written(),
                        entry.session() != 0,
                        below(nodes, key(path)).size())));
  }

  /** Creates the node of a candidate, after those that are there; returns its name. */
  synchronized String candidate(String folder, String id, long session) throws NodeException {
    Entry above = nodes.get(folder);
    if (above == null) {
      throw new NodeException.Absent(folder);
    }
    String name = "latch-%010d".formatted(above.numbers());
    byte[] data = id.getBytes(StandardCharsets.UTF_8);
    write(List.of(Operation.create(folder + "/" + name, data, Operation.Kind.EPHEMERAL)), session);
    return name;
  }

  synchronized List<String> children(String path) throws NodeException {
    if (!nodes.containsKey(key(path))) {
      throw new NodeException.Absent(path);
    }
    return List.copyOf(below(nodes, key(path)));
  }

  /** All of the steps or none; each client then hears which nodes have changed. */
  synchronized void write(List<Operation> operations, long session) throws NodeException {
    NavigableMap<String, Entry> before = nodes;
    NavigableMap<String, Entry> after = new TreeMap<>(before);
    long next = revision + 1;
    Set<String> changed = new TreeSet<>();
    for (Operation operation : operations) {
      changed.add(step(after, operation, session, next));
    }
    nodes = after;
    revision = next;
    for (MemoryStore client : List.copyOf(clients)) {
      client.changed(changed);
    }
  }

  private String step(
      NavigableMap<String, Entry> after, Operation operation, long session, long next)
      throws NodeException {
    String path = operation.path();
    if (operation instanceof Operation.Create create) {
      return create(after, create, session, next);
    }
    Entry present = after.get(path);
    if (present == null) {
      throw new NodeException.Absent(path);
    }
    if (operation instanceof Operation.Set set) {
      check(path, present, set.version());
      after.put(path, present.written(set.data(), next, clock.instant()));
    } else if (operation instanceof Operation.Delete delete) {
      check(path, present, delete.version());
      if (!below(after, path).isEmpty()) {
        throw new NodeException.NotEmpty("NOTEMPTY", path + " has nodes below it", null);
      }
      after.remove(path);
    } else if (operation instanceof Operation.Check check) {
      check(path, present, check.version());
    }
    return path;
  }

  private String create(
      NavigableMap<String, Entry> after, Operation.Create create, long session, long next)
      throws NodeException {
    String parent = create.path().substring(0, create.path().lastIndexOf('/'));
    Entry above = after.get(parent);
    if (above == null) {
      throw new NodeException.Absent(parent);
    }
    if (above.session() != 0) {
      throw new NodeException("NOCHILDRENFOREPHEMERALS", parent + " is ephemeral", null);
    }
    String path =
        create.kind() == Operation.Kind.NUMBERED
            ? create.path() + "%010d".formatted(above.numbers())
            : create.path();
    if (after.containsKey(path)) {
      throw new NodeException.Exists("NODEEXISTS", path + " is there", null);
    }
    after.put(parent, above.numbered());
    long owner = create.kind() == Operation.Kind.EPHEMERAL ? session : 0;
    after.put(path, entry(create.data(), next, owner));
    return path;
  }

  private Entry entry(byte[] data, long revision, long session) {
    Instant now = clock.instant();
    return new Entry(data, 0, revision, now, now, session, 0);
  }

  private static void check(String path, Entry present, Optional<Version> version)
      throws NodeException {
    if (version.isPresent() && version.get().writes() != present.writes()) {
      throw new NodeException.Changed("BADVERSION", path + " has another version", null);
    }
  }

  private static Set<String> below(NavigableMap<String, Entry> nodes, String path) {
    Set<String> names = new TreeSet<>();
    for (String each : nodes.subMap(path + "/", path + "0").keySet()) {
      String name = each.substring(path.length() + 1);
      if (!name.contains("/")) {
        names.add(name);
      }
    }
    return names;
  }

  private static String key(String path) {
    return path.equals("/") ? ROOT : path;
  }
}
