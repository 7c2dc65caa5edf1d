; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.cluster
  "The cluster, through jepsen/bin, by which both runners do everything that touches it. Test maps
  have `:bin`, `:scenarios-file` and `:instance`."
  (:refer-clojure :exclude [run!])
  (:require [clojure.data.json :as json]
            [clojure.java.io :as io]
            [clojure.java.shell :as shell]
            [clojure.string :as str]))

(defn words
  "A command of jepsen/bin with the options that select the cluster."
  [{:keys [bin scenarios-file instance]} [command & more]]
  (concat [(str (io/file bin command)) "--cluster" (str scenarios-file)]
          (when instance ["--instance" instance])
          more))

(defn run
  "Runs a command of jepsen/bin: `{:exit :out :err}`."
  [test command & {:keys [in]}]
  (apply shell/sh (concat (words test command) (when in [:in in]))))

(defn run!
  "Runs a command of jepsen/bin and returns its output; throws its error if it fails."
  [test command]
  (let [{:keys [exit out err]} (run test command)]
    (if (zero? exit)
      (str/trim out)
      (throw (ex-info (str/trim (str "'" (str/join " " command) "' failed with " exit ": " err))
                      {:command command, :exit exit})))))

(defn state
  "What `nodes list` prints: `{:instance :service :vip :port :zookeeper :nodes}`."
  [test]
  (json/read-str (run! test ["nodes" "list" "-o" "json"]) :key-fn keyword))

(defn with-role
  "The nodes of a state that have a role."
  [state role]
  (filter #(some #{(name role)} (:roles %)) (:nodes state)))
