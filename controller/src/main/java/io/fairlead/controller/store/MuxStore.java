// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.fairlead.controller.core.image.AddedMux;
import io.fairlead.controller.store.FencedWrite.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The muxes that operators have added (protocol/README.md §4): for each an entry below {@code
 * muxes} and one below {@code health}, in which it and its probe alone can create their nodes.
 *
 * <p>An entry says which login it is for, and its access list follows: ZooKeeper changes no access
 * list in a {@code multi}. Where a login is taken away, the list changes first.
 */
public final class MuxStore {
  private static final Logger LOG = LoggerFactory.getLogger(MuxStore.class);

  /** The data of an entry that does not count, and cannot be deleted. */
  static final byte[] REMOVED =
      NodeJson.write(new Entry(Entry.FORMAT, Optional.empty(), Optional.of(true)));

  private final Store store;
  private final Tree tree;
  private final FencedWrite write;

  /**
   * What an entry has.
   *
   * @param login as access lists name it; absent in a cluster without logins
   * @param removed of one that cannot be deleted, since its owner has made nodes below it: it
   *     counts as if it were not there
   */
  @JsonPropertyOrder({"format", "login", "removed"})
  @JsonInclude(JsonInclude.Include.NON_ABSENT)
  record Entry(int format, Optional<String> login, Optional<Boolean> removed) {
    static final int FORMAT = 1;

    Entry {
      login = login == null ? Optional.empty() : login;
      removed = removed == null ? Optional.empty() : removed;
    }
  }

  public MuxStore(Store store, Tree tree, Duration deadline) {
    this(store, tree, new FencedWrite(store, tree, deadline));
  }

  private MuxStore(Store store, Tree tree, FencedWrite write) {
    this.store = store;
    this.tree = tree;
    this.write = write;
  }

  /** The same store, for one write that leaves {@code note} beside it. */
  public MuxStore with(Note note) {
    return new MuxStore(store, tree, write.with(note));
  }

  /** All of them, by ascending id. */
  public List<AddedMux> all() throws StoreException {
    try {
      List<AddedMux> added = new ArrayList<>();
      for (String id : store.children(tree.muxes()).stream().sorted().toList()) {
        find(id).ifPresent(added::add);
      }
      return added;
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("muxes cannot be listed: " + e, e);
    }
  }

  /** Empty if it is not added. */
  public Optional<AddedMux> find(String id) throws StoreException {
    try {
      Optional<Stat> stat = store.stat(tree.mux(id));
      if (stat.filter(entry -> !entry.isEphemeral()).isEmpty()) {
        return Optional.empty();
      }
      Optional<Entry> mux = entry(tree.mux(id));
      Optional<String> probeLogin = entry(tree.probe(id)).flatMap(Entry::login);
      return mux.map(entry -> new AddedMux(id, entry.login(), probeLogin));
    } catch (NodeException.Hidden e) {
      LOG.warn("{} does not count: it is hidden from controllers", tree.mux(id));
      return Optional.empty();
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("mux '%s' cannot be read: %s".formatted(id, e), e);
    }
  }

  /** Empty of one that is removed, and of one that controllers have not written. */
  private Optional<Entry> entry(String path) throws Exception {
    try {
      Optional<byte[]> data = store.find(path);
      return data.isEmpty() ? Optional.empty() : counted(NodeJson.readMuxEntry(data.get()));
    } catch (StoreException | NodeException.Hidden e) {
      LOG.warn("{} does not count: {}", path, e.getMessage());
      return Optional.empty();
    }
  }

  private static Optional<Entry> counted(Entry entry) {
    return entry.removed().orElse(false) ? Optional.empty() : Optional.of(entry);
  }

  /** Whether an entry with these data is that of a mux that is added. */
  static boolean isAdded(byte[] data) {
    try {
      return counted(NodeJson.readMuxEntry(data)).isPresent();
    } catch (StoreException e) {
      LOG.debug("an entry does not count", e);
      return false;
    }
  }

  /** The login that an entry with these data is for. */
  public static Optional<String> login(byte[] data) throws StoreException {
    return NodeJson.readMuxEntry(data).login();
  }

  /** Whether one that is added has a node. So may one that hides its node. */
  public boolean isAlive(String id) throws StoreException {
    try {
      return find(id).isPresent() && isEphemeralOrHidden(Tree.live(tree.mux(id)));
    } catch (StoreException e) {
      throw e;
    } catch (Exception e) {
      throw new StoreException("mux '%s' cannot be read: %s".formatted(id, e), e);
    }
  }

  private boolean isEphemeralOrHidden(String path) throws Exception {
    try {
      return isEphemeral(path);
    } catch (NodeException.Hidden e) {
      LOG.debug("{} is hidden", path, e);
      return true;
    }
  }

  private boolean isEphemeral(String path) throws Exception {
    return store.stat(path).filter(Stat::isEphemeral).isPresent();
  }

  /**
   * Adds one that is not there.
   *
   * @throws StoreException.NotDeleted if one of this id that was removed has left its node
   */
  public void add(Epoch epoch, AddedMux mux) throws StoreException {
    Optional<String> left = end(epoch, mux.id());
    if (left.isPresent()) {
      throw new StoreException.NotDeleted(left.get());
    }
    byte[] entry = entry(mux.login());
    byte[] probe = entry(mux.probeLogin());
    write.run(
        "addition of mux '%s'".formatted(mux.id()),
        epoch,
        () ->
            List.of(
                created(tree.mux(mux.id()), entry, mux.login()),
                created(tree.probe(mux.id()), probe, mux.probeLogin())),
        () -> {
          Optional<byte[]> present = store.find(tree.mux(mux.id()));
          if (present.filter(MuxStore::isAdded).isEmpty()) {
            return Outcome.NOT_WRITTEN;
          }
          return Arrays.equals(present.get(), entry) ? Outcome.WRITTEN : Outcome.OVERTAKEN;
        });
  }

  /**
   * Gives one that is there other logins; its nodes are of the former ones, and go.
   *
   * @throws StoreException.NotDeleted if one stays, upon which the former logins stay, too
   */
  public void renew(Epoch epoch, AddedMux mux) throws StoreException {
    byte[] entry = entry(mux.login());
    Optional<AddedMux> former = find(mux.id());
    setAccess(mux.id(), mux.login(), mux.probeLogin());
    Optional<String> left = end(epoch, mux.id());
    if (left.isPresent()) {
      setAccess(mux.id(), former.flatMap(AddedMux::login), former.flatMap(AddedMux::probeLogin));
      throw new StoreException.NotDeleted(left.get());
    }
    write.run(
        "new logins of mux '%s'".formatted(mux.id()),
        epoch,
        () ->
            List.of(
                Operation.set(tree.mux(mux.id()), entry),
                Operation.set(tree.probe(mux.id()), entry(mux.probeLogin()))),
        () -> {
          Optional<byte[]> present = store.find(tree.mux(mux.id()));
          return present.filter(other -> Arrays.equals(other, entry)).isPresent()
              ? Outcome.WRITTEN
              : Outcome.NOT_WRITTEN;
        });
  }

  /**
   * Removes a mux with its nodes; the first step makes its logins invalid. Other nodes that the mux
   * has made are neither listed nor deleted, because it may have protected them or have made too
   * many: the entry then stays and is marked as removed.
   */
  public void remove(Epoch epoch, String id) throws StoreException {
    setAccess(id, Optional.empty(), Optional.empty());
    end(epoch, id);
    write.run(
        "removal of mux '%s'".formatted(id),
        epoch,
        () -> {
          List<Operation> ops = new ArrayList<>();
          for (String path : List.of(tree.probe(id), tree.mux(id))) {
            Optional<Stat> stat = store.stat(path);
            if (stat.filter(entry -> entry.children() > 0).isPresent()) {
              LOG.warn(
                  "{} has nodes that the mux has made: ZooKeeper's superuser can delete them."
                      + " The login is invalid now, and the controller ignores the entry",
                  path);
              ops.add(Operation.set(path, REMOVED));
            } else if (stat.isPresent()) {
              ops.add(Operation.delete(path));
            }
          }
          return ops;
        },
        () -> find(id).isEmpty() ? Outcome.WRITTEN : Outcome.NOT_WRITTEN);
  }

  /**
   * Ends what is alive of it, and what is ephemeral in place of its entries. Its list of nodes is
   * not read, which may be too long to be sent.
   *
   * @return a node that stays: it is not ephemeral, since its owner has made nodes below it
   */
  private Optional<String> end(Epoch epoch, String id) throws StoreException {
    Optional<String> left = Optional.empty();
    for (String entry : List.of(tree.probe(id), tree.mux(id))) {
      try {
        String alive = isEphemeral(entry) ? entry : Tree.live(entry);
        write.once(epoch, List.of(Operation.delete(alive)));
      } catch (NodeException.Absent e) {
        LOG.debug("{} is not alive", entry, e);
      } catch (NodeException.NotEmpty e) {
        left = Optional.of(Tree.live(entry));
      } catch (Exception e) {
        throw new StoreException("the node of mux '%s' was not deleted: %s".formatted(id, e), e);
      }
    }
    return left;
  }

  /** As {@link #add}, or {@link #renew} if an interrupted restore has left it. */
  public void restore(Epoch epoch, AddedMux mux) throws StoreException {
    if (find(mux.id()).isPresent()) {
      renew(epoch, mux);
    } else {
      add(epoch, mux);
    }
  }

  /** One that does not count may be there; it gets its access list first. */
  private Operation created(String path, byte[] entry, Optional<String> login) throws Exception {
    if (store.find(path).filter(data -> !isAdded(data)).isPresent()) {
      store.permit(path, login);
      return Operation.set(path, entry);
    }
    return new Operation.Create(path, entry, Operation.Kind.LASTING, login);
  }

  private void setAccess(String id, Optional<String> login, Optional<String> probeLogin)
      throws StoreException {
    try {
      store.permit(tree.mux(id), login);
      store.permit(tree.probe(id), probeLogin);
    } catch (Exception e) {
      throw new StoreException("the logins of mux '%s' were not changed: %s".formatted(id, e), e);
    }
  }

  private static byte[] entry(Optional<String> login) {
    return NodeJson.write(new Entry(Entry.FORMAT, login, Optional.empty()));
  }
}
