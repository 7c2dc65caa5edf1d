# SPDX-License-Identifier: Apache-2.0
from jepsen.faults.cluster import Cluster


class SshCluster(Cluster):
    pass
