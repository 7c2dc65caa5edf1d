// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;

/** Whether a tree that is there may be used by a controller with these logins. */
public final class OwnTree {
  private OwnTree() {}

  /**
   * Passes if there is none yet.
   *
   * @param protectsOpen whether the logins may be set on a tree that is open to everyone
   * @throws StoreException.NotOurs if waiting does not help
   */
  public static void check(
      CuratorFramework client, Tree tree, Optional<ZooKeeperAccess> access, boolean protectsOpen)
      throws StoreException {
    List<ACL> present;
    try {
      present = client.getACL().forPath(tree.root());
    } catch (KeeperException.NoNodeException e) {
      return;
    } catch (KeeperException.NoAuthException e) {
      throw new StoreException.NotOurs(tree.root(), StoreException.NotOurs.Why.OTHER_LOGINS);
    } catch (Exception e) {
      throw new StoreException("%s cannot be read: %s".formatted(tree.root(), e), e);
    }
    List<ACL> ours = present.stream().filter(acl -> isOf(acl, access)).toList();
    // Without a permission, ZooKeeper would not have told: it does not check any (skipACL).
    boolean isOpen = ours.isEmpty();
    if (access.isEmpty() || ours.stream().anyMatch(acl -> acl.getPerms() == ZooDefs.Perms.ALL)) {
      return;
    }
    if (!isOpen) {
      throw new StoreException.NotOurs(tree.root(), StoreException.NotOurs.Why.OTHER_LOGINS);
    }
    if (!protectsOpen) {
      throw new StoreException.NotOurs(tree.root(), StoreException.NotOurs.Why.OPEN);
    }
  }

  /** Whether it is of one of the logins, which may be a former one. */
  private static boolean isOf(ACL acl, Optional<ZooKeeperAccess> access) {
    return access.map(ZooKeeperAccess::identities).orElse(List.of()).stream()
        .map(login -> new String(login.getAuth(), StandardCharsets.UTF_8))
        .anyMatch(login -> acl.getId().getId().equals(ZooKeeperAccess.digest(login)));
  }
}
