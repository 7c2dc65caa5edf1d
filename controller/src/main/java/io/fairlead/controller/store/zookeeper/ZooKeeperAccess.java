// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.secret.SecretFile;
import io.fairlead.controller.store.MuxStore;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.curator.framework.AuthInfo;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This controller's identity in ZooKeeper, and the permissions in the tree: controllers may do
 * everything; readers, which all muxes and probes are, may read what they need; each mux and each
 * probe may create a node below its own entry ({@link MuxStore}), which it protects itself; all
 * others may do nothing.
 *
 * <p>The file has a line {@code USER:PASSWORD} for the controllers and one for the readers. Further
 * lines are former logins of the controllers, for while a password is being replaced.
 */
public final class ZooKeeperAccess {
  private static final String DIGEST = "digest";
  private static final Pattern LOGIN = Pattern.compile("[A-Za-z0-9._-]{1,64}:[!-~]{8,256}");

  private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperAccess.class);

  /** The line of the readers' login. */
  private static final int READERS = 1;

  private final List<String> logins;

  private ZooKeeperAccess(List<String> logins) {
    this.logins = logins;
  }

  /**
   * @throws IllegalArgumentException naming file and line, never their content
   */
  public static ZooKeeperAccess read(SecretFile file) {
    List<SecretFile.Line> lines = file.lines();
    for (SecretFile.Line line : lines) {
      if (!LOGIN.matcher(line.text()).matches()) {
        throw file.refused(
            "line %d is not a login".formatted(line.number()),
            "USER:PASSWORD, a password of 8..256 visible characters");
      }
    }
    if (lines.size() < 2 || lines.get(0).text().equals(lines.get(1).text())) {
      throw file.refused(
          "it has %d lines".formatted(lines.size()),
          "a line for the controllers and another one for the readers");
    }
    return new ZooKeeperAccess(lines.stream().map(SecretFile.Line::text).toList());
  }

  /** The login by which all muxes and probes read. */
  public String readersLogin() {
    return logins.get(READERS);
  }

  /** A login as access lists name it, USER:DIGEST. */
  public static String digest(String login) {
    try {
      return DigestAuthenticationProvider.generateDigest(login);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("this Java has no SHA-1", e);
    }
  }

  /** The logins of a session; also that of the readers, since it reads muxes' own nodes. */
  List<AuthInfo> identities() {
    return logins.stream()
        .map(login -> new AuthInfo(DIGEST, login.getBytes(StandardCharsets.UTF_8)))
        .toList();
  }

  ACLProvider provider(Tree tree) {
    return new ACLProvider() {
      @Override
      public List<ACL> getDefaultAcl() {
        return list(controllers());
      }

      @Override
      public List<ACL> getAclForPath(String path) {
        return of(tree, path);
      }
    };
  }

  private List<ACL> of(Tree tree, String path) {
    for (String secret : List.of(tree.audit(), tree.answers(), tree.election())) {
      if (path.equals(secret) || path.startsWith(secret + "/")) {
        return list(controllers());
      }
    }
    return list(controllers(), readers());
  }

  /** Of an entry whose mux or probe has this login, or none. */
  List<ACL> ofEntry(Optional<String> login) {
    return login
        .map(
            own ->
                list(
                    controllers(),
                    readers(),
                    new ACL(Perms.READ | Perms.CREATE, new Id(DIGEST, own))))
        .orElseGet(() -> list(controllers(), readers()));
  }

  /** ZooKeeper calls {@code contains(null)}, for which the lists of {@code List.of} throw. */
  private static List<ACL> list(ACL... entries) {
    return Arrays.asList(entries);
  }

  private ACL controllers() {
    return new ACL(Perms.ALL, id(0));
  }

  private ACL readers() {
    return new ACL(Perms.READ, id(READERS));
  }

  private Id id(int line) {
    return new Id(DIGEST, digest(logins.get(line)));
  }

  /**
   * Protects existing nodes: each before its children are listed, so that no other client can add
   * one that is missed, and the format last, to mark that all are done.
   *
   * <p>A tree that was open is kept, but not what made others follow, wait for or count somebody:
   * controllers and muxes make such nodes again. While that lasts, the format is hidden.
   *
   * @throws StoreException naming a node that cannot be protected
   */
  void protect(CuratorFramework client, Tree tree) throws Exception {
    try {
      if (!isDone(client, tree)) {
        if (!isOfControllers(client, tree.root())) {
          client.setACL().withACL(list(controllers())).forPath(tree.format());
        }
        for (String path : List.of(tree.root(), tree.election())) {
          client.setACL().withACL(of(tree, path)).forPath(path);
        }
        removePlanted(client, tree);
        protect(client, tree, tree.root());
        client.setACL().withACL(of(tree, tree.format())).forPath(tree.format());
        if (!isDone(client, tree)) {
          throw new StoreException(tree.root() + " was changed while it was being protected");
        }
      }
      removePlanted(client, tree);
    } catch (KeeperException.NoAuthException e) {
      throw new StoreException(
          e.getPath()
              + " has an access list of its own, which controllers may not change; allowed: delete"
              + " it as ZooKeeper's superuser",
          e);
    }
  }

  private boolean isDone(CuratorFramework client, Tree tree) throws Exception {
    for (String path : Roots.of(tree)) {
      if (!client.getACL().forPath(path).equals(of(tree, path))) {
        return false;
      }
    }
    return true;
  }

  /** Whether controllers alone may change it, which have one of these logins. */
  private boolean isOfControllers(CuratorFramework client, String path) throws Exception {
    List<ACL> present;
    try {
      present = client.getACL().forPath(path);
    } catch (KeeperException.NoAuthException e) {
      return false;
    }
    List<ACL> changing = present.stream().filter(acl -> acl.getPerms() != Perms.READ).toList();
    return !changing.isEmpty()
        && changing.stream()
            .allMatch(
                acl ->
                    IntStream.range(0, logins.size())
                        .filter(line -> line != READERS)
                        .anyMatch(line -> acl.getId().equals(id(line))));
  }

  private void protect(CuratorFramework client, Tree tree, String path) throws Exception {
    if (path.equals(tree.format())) {
      return;
    }
    try {
      if (tree.isEntry(path)) {
        protectEntry(client, path);
        return;
      }
      client.setACL().withACL(of(tree, path)).forPath(path);
      for (String child : client.getChildren().forPath(path)) {
        protect(client, tree, path + "/" + child);
      }
    } catch (KeeperException.NoNodeException e) {
      // Deleted meanwhile: there is nothing to protect.
    } catch (KeeperException.NoAuthException e) {
      if (!tree.isEntry(path)) {
        throw e;
      }
      LOG.error(
          "{} is hidden from controllers by its access list, so it stays as it is; only ZooKeeper's"
              + " superuser can delete it",
          path);
    }
  }

  /** Not one that is hidden: controllers' and muxes' nodes are not. */
  private static boolean goesByItself(CuratorFramework client, String path) throws Exception {
    try {
      Stat stat = client.checkExists().forPath(path);
      return stat == null || stat.getEphemeralOwner() != 0;
    } catch (KeeperException.NoAuthException e) {
      return false;
    }
  }

  /**
   * Who leads, and who may next: what no controller with these logins has made, and what does not
   * go with its session. Callers' tokens are sent to the one, and the others are waited for.
   */
  private void removePlanted(CuratorFramework client, Tree tree) throws Exception {
    List<String> paths = new ArrayList<>(List.of(tree.leader()));
    client.getChildren().forPath(tree.election()).stream()
        .map(child -> tree.election() + "/" + child)
        .forEach(paths::add);
    for (String path : paths) {
      try {
        if (!goesByItself(client, path) || !isOfControllers(client, path)) {
          client.delete().deletingChildrenIfNeeded().forPath(path);
          LOG.warn("{} is deleted: no controller with these logins has made it", path);
        }
      } catch (KeeperException.NoNodeException e) {
        LOG.debug("{} is gone", path, e);
      } catch (KeeperException.NoAuthException e) {
        throw new StoreException(
            path
                + " is no controller's, and hides nodes below it, so that none can lead; allowed:"
                + " delete it as ZooKeeper's superuser",
            e);
      }
    }
  }

  /** What is below it its owner protects. */
  private void protectEntry(CuratorFramework client, String path) throws Exception {
    Stat stat = client.checkExists().forPath(path);
    if (stat == null || stat.getEphemeralOwner() != 0) {
      return;
    }
    Optional<String> login = Optional.empty();
    try {
      login = MuxStore.login(client.getData().forPath(path));
    } catch (StoreException e) {
      LOG.warn("{} does not count: {}", path, e.getMessage());
    }
    client.setACL().withACL(ofEntry(login)).forPath(path);
  }
}
