; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.db
  "The cluster as Jepsen's database. It is brought up by `jepsen/bin/nodes up` beforehand, since the suite itself runs
  on its node `runner`; here each node is asked over the remote whether it answers, faults are healed,
  and the workload's services are created. When Jepsen asks for logs, `nodes logs` collects those of all nodes at once."
  (:require [clojure.java.io :as io]
            [clojure.tools.logging :refer [info]]
            [fairlead.jepsen.cluster :as cluster]
            [jepsen [control :as c]
                    [db :as db]
                    [store :as store]]))

(defn- collect-logs!
  "Copies all programs' logs beside the test's results."
  [test]
  (cluster/run! test ["nodes" "logs" (.getPath ^java.io.File (io/file (store/path test) "logs"))]))

(defrecord Cluster [prepare!]
  db/DB
  (setup! [_ _ node]
    (info node "runs Linux" (c/exec :uname :-r)))

  (teardown! [_ _ _])

  db/LogFiles
  (log-files [_ test node]
    (when (= node (first (:nodes test)))
      (collect-logs! test))
    [])

  db/Primary
  (primaries [_ test]
    (map :node (cluster/with-role (cluster/state test) :leader)))

  (setup-primary! [_ test _]
    (cluster/run! test ["fault-ctl" "heal"])
    (prepare! test)))
