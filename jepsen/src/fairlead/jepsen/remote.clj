; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.remote
  "A `Remote` for nodes that are network namespaces: commands run by `nodes exec`, which gives
  them process ids of their own, so that nothing a test runs on one node can see or end the
  programs of another (Jepsen's `grepkill!` looks at all processes). Over SSH (`:over :ssh`) the
  suite uses Jepsen's own remote instead."
  (:require [clojure.java.io :as io]
            [fairlead.jepsen.cluster :as cluster]
            [jepsen.control.core :as core]))

(defn- quoted
  [path]
  (core/escape path))

(defrecord Namespaces [test host]
  core/Remote
  (connect [this conn-spec]
    (assoc this :host (:host conn-spec)))

  (disconnect! [this]
    (assoc this :host nil))

  (execute! [_ _ {:keys [cmd in] :as action}]
    (merge action {:host host} (cluster/run test ["nodes" "exec" host "--" "sh" "-c" cmd] :in in)))

  (upload! [this context local-paths remote-path _]
    (doseq [path (flatten [local-paths])]
      (core/throw-on-nonzero-exit
        (core/execute! this context {:cmd (str "cat > " (quoted remote-path)), :in (slurp (io/file path))}))))

  (download! [this context remote-paths local-path _]
    (doseq [path (flatten [remote-paths])]
      (spit local-path (:out (core/throw-on-nonzero-exit
                               (core/execute! this context {:cmd (str "cat " (quoted path))})))))))

(defn namespaces
  "The remote for a test whose cluster is in namespaces."
  [test]
  (Namespaces. test nil))
