; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.bounds-test
  "What a run says of the chance of a break, against jepsen/bounds.edn, which pins the harness in Go, too."
  (:require [clojure.test :refer [deftest is testing]]
            [fairlead.jepsen [bounds :as bounds]
                             [rules-test :as rules-test]]))

(def wanted (first (rules-test/forms "bounds.edn")))

(defn- near? [got want] (<= (abs (- got want)) (* 1e-9 want)))

(deftest the-shared-vectors
  (is (seq (:at-most wanted)))
  (doseq [[broke connections chance] (:at-most wanted)]
    (is (near? (bounds/at-most broke connections) chance) (str broke " of " connections))))

(deftest the-shared-histories
  (doseq [[name rows] (:histories wanted)]
    (testing name
      (let [got (bounds/bounds (rest (rules-test/histories name)))]
        (is (= (map (fn [[fault connections broke _ stall]] [(keyword fault) connections broke stall]) rows)
               (map (juxt :fault :connections :broke :stall) got)))
        (is (every? true? (map near? (map :at-most got) (map #(nth % 3) rows))))))))
