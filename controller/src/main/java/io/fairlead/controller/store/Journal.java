// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import com.google.common.collect.Lists;
import io.fairlead.controller.store.Note.KeptAnswer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Past writes (protocol/README.md §4): a record of each, numbered by ZooKeeper in the order of the
 * commits, and the answers to requests that clients may repeat. Both are created in the same {@code
 * multi} that commits the write, so that all exist or none does: a request that is repeated after
 * its answer was lost gets that answer, regardless of which controller leads by then, and two
 * attempts under one key can never both commit.
 *
 * <p>The latest {@link #KEPT} are kept; an answer is deleted with its record. Numbers are
 * ZooKeeper's, up to 2^31 writes.
 */
public final class Journal {
  /** A listing of that many names stays far below ZooKeeper's limit of 1 MB. */
  public static final int KEPT = 10_000;

  private static final int READS_AT_ONCE = 256;
  private static final int DELETES_AT_ONCE = 100;

  /** Entries by descending number; {@code next} is where the next page starts, if there is one. */
  public record Page(List<Numbered> entries, OptionalLong next) {}

  public record Numbered(long number, AuditEntry entry) {}

  private final Store store;
  private final Tree tree;

  public Journal(Store store, Tree tree) {
    this.store = store;
    this.tree = tree;
  }

  /** The operations that record a write, for its {@code multi}. */
  List<Operation> operations(Note note) throws Exception {
    List<Operation> ops = new ArrayList<>();
    ops.add(numbered(note.entry()));
    if (note.kept().isPresent()) {
      KeptAnswer kept = note.kept().get();
      ops.add(Operation.create(tree.answer(kept.key()), NodeJson.write(kept)));
    }
    return ops;
  }

  private Operation numbered(AuditEntry entry) {
    return Operation.create(tree.auditEntry(), NodeJson.write(entry), Operation.Kind.NUMBERED);
  }

  /** Records what is no write: fenced by no epoch, so that every controller can. */
  public void record(AuditEntry entry) throws StoreException {
    try {
      store.write(List.of(numbered(entry)));
    } catch (Exception e) {
      throw new StoreException("'%s' was not recorded: %s".formatted(entry.what(), e), e);
    }
  }

  /** The answer kept under {@code key}; finds everything that was committed before this call. */
  public Optional<KeptAnswer> answer(String key) throws StoreException {
    try {
      Optional<byte[]> json = store.findLatest(tree.answer(key));
      return json.isPresent() ? Optional.of(NodeJson.readAnswer(json.get())) : Optional.empty();
    } catch (Exception e) {
      throw new StoreException("the answer to key %s cannot be read: %s".formatted(key, e), e);
    }
  }

  /**
   * The latest entries, or the latest below {@code before}.
   *
   * @param limit 1 and up
   */
  public Page page(OptionalLong before, int limit) throws StoreException {
    try {
      store.sync();
      List<String> names = names(Comparator.reverseOrder());
      names.removeIf(name -> number(name) >= before.orElse(Long.MAX_VALUE));
      List<Numbered> entries = new ArrayList<>();
      List<String> wanted = names.subList(0, Math.min(limit, names.size()));
      for (List<String> some : Lists.partition(wanted, READS_AT_ONCE)) {
        List<Optional<byte[]>> read = store.read(Lists.transform(some, tree::auditEntry));
        for (int i = 0; i < some.size(); i++) {
          if (read.get(i).isPresent()) { // else it was removed meanwhile
            entries.add(new Numbered(number(some.get(i)), NodeJson.readEntry(read.get(i).get())));
          }
        }
      }
      return new Page(
          entries,
          wanted.size() < names.size()
              ? OptionalLong.of(number(wanted.get(wanted.size() - 1)))
              : OptionalLong.empty());
    } catch (Exception e) {
      throw new StoreException("the audit records cannot be read: " + e, e);
    }
  }

  /** Deletes all but the latest {@code kept} entries, and the answers that belong to them. */
  public void removeOld(Epoch epoch, int kept) throws StoreException {
    FencedWrite write = new FencedWrite(store, tree, Duration.ZERO);
    try {
      List<String> names = names(Comparator.naturalOrder());
      List<String> old = names.subList(0, Math.max(0, names.size() - kept));
      for (List<String> some : Lists.partition(old, DELETES_AT_ONCE)) {
        List<Operation> ops = new ArrayList<>();
        List<Optional<byte[]>> read = store.read(Lists.transform(some, tree::auditEntry));
        for (int i = 0; i < some.size(); i++) {
          ops.add(Operation.delete(tree.auditEntry(some.get(i))));
          Optional<String> key = NodeJson.readEntry(read.get(i).orElseThrow()).key();
          if (key.isPresent()) {
            ops.add(Operation.delete(tree.answer(key.get())));
          }
        }
        write.once(epoch, ops);
      }
    } catch (Exception e) {
      throw new StoreException("old audit records were not deleted: " + e, e);
    }
  }

  private List<String> names(Comparator<String> order) throws Exception {
    List<String> names = new ArrayList<>(store.children(tree.audit()));
    names.sort(order); // the numbers have ten digits each
    return names;
  }

  private static long number(String name) {
    return Long.parseLong(name.substring(name.length() - 10));
  }
}
