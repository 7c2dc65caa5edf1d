; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.bounds
  "What a run shows of the chance that a connection breaks, as the harness in Go says it. jepsen/bounds.edn pins both."
  (:require [fairlead.jepsen.checker.connections :as connections]))

(def risk
  "The probability of so few breaks if the chance is that of `at-most`."
  0.05)

(defn- probability
  "That of at most so many breaks. In logarithms, as (1 - chance)^connections may be too small."
  [broke connections chance]
  (let [others (Math/log1p (- chance))
        terms  (reductions (fn [term n] (+ term (Math/log (/ (inc (- connections n)) (double n))) (Math/log chance) (- others)))
                           (* connections others)
                           (range 1 (inc broke)))]
    (reduce + (map #(Math/exp %) terms))))

(defn at-most
  "The upper bound of the chance of a break at 95 %, of Clopper and Pearson (Biometrika 26, 1934), if so many of the
  connections broke, independently of each other: without a break 1 - 0.05^(1/n), about 3/n."
  [broke connections]
  (if (>= broke connections)
    1.0
    (loop [low 0.0, high 1.0, halvings 60]
      (let [middle (/ (+ low high) 2)]
        (cond
          (zero? halvings)                                 high
          (> (probability broke connections middle) risk) (recur middle high (dec halvings))
          :else                                            (recur low middle (dec halvings)))))))

(defn- overlaps? [{:keys [from to]} [since until]]
  (and (<= since (or to Long/MAX_VALUE)) (<= from until)))

(defn- bound
  [fault stood connections]
  (let [open   (filter (fn [{:keys [from to]}] (some #(overlaps? % [from to]) stood)) connections)
        broke  (count (filter connections/broke? open))
        stalls (for [each open, stall (:stalls each) :when (some #(overlaps? % stall) stood)]
                 (- (second stall) (first stall)))]
    {:fault fault, :connections (count open), :broke broke, :at-most (at-most broke (count open)),
     :stall (reduce max 0 stalls)}))

(defn bounds
  "By kind of fault, `nil` for the whole run: how many connections were open meanwhile, without those that a fault
  excuses, how many of them broke, the chance of a break at 95 %, and their longest wait in nanoseconds."
  [ops]
  (let [stood (connections/faults ops)
        all   (remove #(and (connections/broke? %) (some (fn [fault] (connections/excuses? fault %)) stood))
                      (connections/connections ops))]
    (into [(bound nil [{:from 0 :to nil}] all)]
          (for [fault (distinct (map :fault stood))]
            (bound fault (filter #(= fault (:fault %)) stood) all)))))
