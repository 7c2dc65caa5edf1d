; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker-test
  "Knossos finds what an exhaustive search finds."
  (:require [clojure.test :refer [deftest is testing]]
            [fairlead.jepsen [knossos :as knossos]
                             [rules-test :as rules-test]
                             [search :as search]]
            [fairlead.jepsen.checker.config :as config]))

(defn judge
  [search ops]
  (:valid? (config/linearizable ops {:search search})))

(deftest knossos-judges-shared-histories
  (doseq [[file [header & ops]] rules-test/histories
          :when (and (= :config (:workload header)) (not (:refused header)))]
    (testing file
      (is (= (get-in header [:expect :linearizable])
             (:valid? (config/linearizable ops (assoc header :search knossos/search))))))))

(deftest knossos-judges-like-an-exhaustive-search
  (doseq [seed (range 25), lie? [false true]
          :let [ops (rules-test/history (java.util.Random. seed) lie?)]]
    (is (= (judge search/search ops) (judge knossos/search ops)) (str "seed " seed))))

(deftest many-unknown-outcomes-are-judged-soon
  (is (true? (judge knossos/search (rules-test/many-unknown)))))
