; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker.balance
  "Whether, after healing, buckets and new connections are distributed by weight.

  Assumed: the connections were opened after healing, each from its own port, so
  that each has a hash of its own. Steps: each backend's share of the buckets is its
  share of the weights, within `:tolerance`; its connections are within 5 standard
  deviations of what its weight asks for; a backend without weight has neither. What can
  mislead: with few connections the deviation is wide, and little is seen."
  (:require [fairlead.jepsen.verdict :refer [judged unknown]]))

(def sigmas
  "One count in 1.7 million is beyond 5 standard deviations."
  5)

(def default-tolerance 0.01)

(defn- total
  [counts]
  (double (reduce + (vals counts))))

(defn- against
  "Violations in one service's shares."
  [tolerance {:keys [service weights buckets connections]}]
  (mapcat
    (fn [id]
      (let [wanted (/ (get weights id 0) (total weights))
            has    (/ (get buckets id 0) (total buckets))
            mean   (* wanted (total connections))
            got    (get connections id 0)]
        (concat
          (cond
            (and (zero? wanted) (pos? has))
            [[:weightless (format "%s: backend %s has %.4f of the buckets and no weight" service id has)]]

            (< tolerance (abs (- has wanted)))
            [[:buckets (format "%s: backend %s has %.4f of the buckets, its weight asks for %.4f" service id has wanted)]])
          (when (< (* sigmas (Math/sqrt (* mean (- 1 wanted)))) (abs (- got mean)))
            [[:connections (format "%s: backend %s got %s of %.0f connections, its weight asks for %.1f" service id got
                                   (total connections) mean)]]))))
    (sort (set (mapcat keys [weights buckets connections])))))

(defn balanced
  [ops {:keys [tolerance]}]
  (let [shares (map :value (filter #(and (= :shares (:f %)) (= :ok (:type %))) ops))
        empty  (first (filter #(some (comp zero? total %) [:weights :buckets :connections]) shares))]
    (cond
      (empty? shares) (unknown :no-shares "no shares were read")
      empty           (unknown :nothing-shared (:service empty) ": no weights, buckets or connections in all")
      :else           (judged (mapcat #(against (or tolerance default-tolerance) %) shares)
                              (str (count (mapcat :weights shares)) " backends of " (count shares)
                                   " services have what their weights ask for")))))
