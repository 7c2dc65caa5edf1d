// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import io.fairlead.controller.secret.SecretFile;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.curator.framework.AuthInfo;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/**
 * This controller's identity in ZooKeeper, and the permissions in the tree: controllers may do
 * everything; muxes may read what they need, and create their own nodes, which they protect
 * themselves; all others may do nothing.
 *
 * <p>The file has a line {@code USER:PASSWORD} for the controllers and one for the muxes. Further
 * lines are former logins of the controllers, for while a password is being replaced.
 */
public final class ZooKeeperAccess {
  private static final String DIGEST = "digest";
  private static final Pattern LOGIN = Pattern.compile("[A-Za-z0-9._-]{1,64}:[!-~]{8,256}");

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
          "a line for the controllers and another one for the muxes");
    }
    return new ZooKeeperAccess(lines.stream().map(SecretFile.Line::text).toList());
  }

  /** The logins of a session; also that of the muxes, since it reads their nodes. */
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
    return list(
        controllers(), muxes(tree.isOfMuxes(path) ? Perms.READ | Perms.CREATE : Perms.READ));
  }

  /** ZooKeeper calls {@code contains(null)}, for which the lists of {@code List.of} throw. */
  private static List<ACL> list(ACL... entries) {
    return Arrays.asList(entries);
  }

  private ACL controllers() {
    return new ACL(Perms.ALL, id(0));
  }

  private ACL muxes(int permissions) {
    return new ACL(permissions, id(1));
  }

  private Id id(int line) {
    try {
      return new Id(DIGEST, DigestAuthenticationProvider.generateDigest(logins.get(line)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("this Java has no SHA-1", e);
    }
  }

  /**
   * Protects existing nodes: each before its children are listed, so that no other client can add
   * one that is missed, and the format last, to mark that all are done.
   */
  void protect(CuratorFramework client, Tree tree) throws Exception {
    List<ACL> wanted = of(tree, tree.format());
    if (client.getACL().forPath(tree.format()).equals(wanted)) {
      return;
    }
    protect(client, tree, tree.root());
    client.setACL().withACL(wanted).forPath(tree.format());
  }

  private void protect(CuratorFramework client, Tree tree, String path) throws Exception {
    if (path.equals(tree.format()) || tree.isOfMuxes(path.substring(0, path.lastIndexOf('/')))) {
      return;
    }
    try {
      client.setACL().withACL(of(tree, path)).forPath(path);
      for (String child : client.getChildren().forPath(path)) {
        protect(client, tree, path + "/" + child);
      }
    } catch (KeeperException.NoNodeException e) {
      // Deleted meanwhile: there is nothing to protect.
    }
  }
}
