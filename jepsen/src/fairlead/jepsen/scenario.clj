; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.scenario
  "What the suite does, as scenarios.edn says (jepsen/README.md): cluster, workloads,
  faults and schedules. Pure functions of that file and a seed."
  (:require [clojure.edn :as edn]
            [clojure.string :as str]))

(defn read-file
  "The scenarios in a file. Refuses, by its key, one that lacks a part."
  [path]
  (let [scenarios (edn/read-string (slurp path))]
    (doseq [part [:cluster :workloads :faults :schedules :switches]]
      (when-not (map? (part scenarios))
        (throw (ex-info (str path ": " part " is " (pr-str (part scenarios)) "; allowed: a map") {:part part}))))
    scenarios))

(defn draws
  "SplitMix64 of a seed: an endless sequence of 64-bit numbers, one for each step of a
  schedule. (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.)"
  [seed]
  (map (fn [n]
         (let [z (unchecked-add (long seed) (unchecked-multiply (unchecked-long 0x9E3779B97F4A7C15) (long n)))
               z (unchecked-multiply (bit-xor z (unsigned-bit-shift-right z 30)) (unchecked-long 0xBF58476D1CE4E5B9))
               z (unchecked-multiply (bit-xor z (unsigned-bit-shift-right z 27)) (unchecked-long 0x94D049BB133111EB))]
           (bit-xor z (unsigned-bit-shift-right z 31))))
       (rest (range))))

(defn pick
  "The member of a collection that a draw names; nil of an empty one."
  [draw coll]
  (when (seq coll)
    (nth coll (Long/remainderUnsigned draw (count coll)))))

(def programs
  "By role, which of its programs a node plays it with."
  {:controller "controller", :leader "controller", :follower "controller"
   :zookeeper "zookeeper", :zookeeper-leader "zookeeper", :zookeeper-follower "zookeeper"
   :mux "mux", :server "nginx"})

(defn resolve-step
  "A step with its `:node` and `:program`, given the nodes as `nodes list` shows them; with
  `:error` where no node has the role."
  [nodes draw {:keys [on] :as step}]
  (cond
    (or (nil? on) (= :none on))
    step

    (string? on)
    (assoc step :node on)

    :else
    (if-let [node (pick draw (filter #(some #{(name on)} (:roles %)) nodes))]
      (cond-> (assoc step :node (:node node))
        (programs on) (assoc :program (str (:node node) "/" (programs on))))
      (assoc step :error (str "no node is " (name on))))))

(defn may-break
  "Which connections a step excuses."
  [scenarios {:keys [fault on]}]
  (let [excuses (get-in scenarios [:faults fault :may-break])]
    (get excuses on (:default excuses :nothing))))

(defn commands
  "The commands of `phase`, `:start` or `:heal`, for a resolved step: vectors of words. Those
  that are keywords are filled in from the step, else from the fault's defaults."
  [scenarios phase {:keys [fault] :as step}]
  (let [{:keys [defaults] :as description} (get-in scenarios [:faults fault])
        fill (fn [word]
               (if (keyword? word)
                 (let [value (get step word (get defaults word))]
                   (when (nil? value)
                     (throw (ex-info (str "fault " fault ": " phase " asks for " word
                                          "; allowed: a key of the step or of :defaults") {:step step})))
                   (str value))
                 word))]
    (mapv (partial mapv fill) (phase description))))

(defn parse-faults
  "Faults and schedules that a word like `kill,pause` names."
  [word]
  (into #{} (map keyword) (remove #{""} (str/split word #","))))
