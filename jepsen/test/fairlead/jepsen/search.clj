; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.search
  "An exhaustive search for an order, to compare Knossos with, and to replace it where Jepsen is not
  installed. Wing and Gong: Testing and Verifying Concurrent Objects, 1993; states that led nowhere
  are remembered."
  (:require [fairlead.jepsen.model :as model]))

(defn- operations
  "By process, `{:op :call :return}`; `:return` is nil where the outcome is unknown."
  [history]
  (reduce (fn [all {:keys [process type index] :as op}]
            (if (= :invoke type)
              (assoc all process {:op op, :call index})
              (assoc-in all [process :return] index)))
          {} history))

(defn- following
  "The states after each operation that may come next."
  [operations [left pool]]
  (let [first-return (reduce min Long/MAX_VALUE (keep (comp :return operations) left))]
    (for [process left
          :let    [{:keys [op call]} (operations process)]
          :when   (< call first-return)
          :let    [next (model/step pool op)]
          :when   (not (string? next))]
      [(disj left process) next])))

(defn search
  "As `fairlead.jepsen.knossos/search`."
  [pool history milliseconds]
  (let [operations (operations history)
        deadline   (+ (System/nanoTime) (* 1000000 milliseconds))]
    (loop [[[left :as state] & more] [[(set (keys operations)) pool]], seen #{}]
      (cond
        (nil? state)                              {:valid? false}
        (< deadline (System/nanoTime))            {:valid? :unknown}
        (not-any? (comp :return operations) left) {:valid? true}
        (seen state)                              (recur more seen)
        :else                                     (recur (into more (following operations state)) (conj seen state))))))
