; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.scenario
  "What the suite does, as scenarios.edn says (jepsen/README.md): cluster, workloads,
  faults and schedules. Pure functions of that file and a seed."
  (:require [clojure.edn :as edn]
            [clojure.string :as str]))

(defn read-file
  "The scenarios in a file. Throws, with the key, if a part is missing."
  [path]
  (let [scenarios (edn/read-string (slurp path))]
    (doseq [part [:cluster :workloads :programs :usual :faults :schedules :switches]]
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
  "The member of a collection that a draw selects; nil if it is empty."
  [draw coll]
  (when (seq coll)
    (nth coll (Long/remainderUnsigned draw (count coll)))))

(defn- fraction
  "The number from 0 to below 1 of a draw."
  [draw]
  (/ (double (unsigned-bit-shift-right draw 11)) 9007199254740992.0))

(defn- weighted
  "The key of a map of weights that a draw selects."
  [weights draw]
  (let [faults (sort (keys weights))
        parts  (reductions + (map weights faults))
        left   (* (fraction draw) (last parts))]
    (or (first (keep (fn [[fault part]] (when (< left part) fault)) (map vector faults parts)))
        (last faults))))

(defn- tenths
  [seconds]
  (/ (double (long (* 10 seconds))) 10))

(defn- drawn-step
  "The step of four draws, due at `at` if those before it have healed by `healed`: `[step ends]`."
  [faults {:keys [weights overlap] [least most] :for} every at healed [which role lasting overlapping]]
  (let [fault                   (weighted weights which)
        {:keys [on heal alone]} (faults fault)
        role                    (pick role (sort on))
        lasts                   (+ least (* (fraction lasting) (- most least)))
        begins                  (cond
                                  (or alone (<= overlap (fraction overlapping))) (max at (inc healed))
                                  (pos? healed)                                  (max 0.0 (- at (/ every 2)))
                                  :else                                          at)]
    [(cond-> {:at (tenths begins), :fault fault}
       (not= :none role) (assoc :on role)
       (seq heal)        (assoc :for (tenths lasts)))
     (+ begins lasts)]))

(defn- drawn-steps
  "Steps for so many seconds: each begins when those before it have healed, or, with probability `:overlap`, half of
  `:every` sooner, while they may be active; one that is `:alone` never. With a number of faults they share the time
  evenly, and none is left out. Rules and draws are those of the harness in Go."
  [{:keys [faults usual]} how seconds seed wanted]
  (let [last-start (- seconds (:settle-seconds usual))
        every      (if wanted (/ (double last-start) wanted) (:every how))]
    (loop [steps [], at (/ every 2.0), healed 0.0, drawn (partition 4 (draws seed))]
      (if (if wanted (<= wanted (count steps)) (<= last-start at))
        steps
        (let [[step ends] (drawn-step faults how every at healed (first drawn))
              healed      (max healed ends)
              at          (if (:alone (faults (:fault step))) (max at (- healed (/ every 2))) at)]
          (recur (conj steps step) (+ at every) healed (rest drawn)))))))

(defn needed
  "The scenarios with the cluster as a schedule or a switch needs it: with its window, its hold, its steering, its
  muxes of kind p4 and its probes."
  [scenarios described]
  (update scenarios :cluster merge (select-keys described [:window-seconds :hold-seconds :steering :p4-muxes :probes])))

(defn schedule
  "`{:seconds :steps :moves}` of the schedule of that name: the steps that it lists or, if it says how to draw them, those
  drawn from the seed for so many seconds, as many as `:faults` says; and as many moves as `:moves` says."
  ([scenarios name seconds seed]
   (schedule scenarios name seconds seed {}))
  ([{:keys [schedules] :as scenarios} name seconds seed {:keys [faults moves]}]
   (let [{:keys [every] :as described} (get schedules name)
         found (if every
                 {:seconds seconds, :steps (drawn-steps scenarios described seconds seed faults)}
                 (select-keys described [:seconds :steps :moves]))]
     (cond-> found
       moves (assoc :moves (mapv #(tenths (/ (* (double (:seconds found)) %) moves)) (range moves)))))))

(defn resolve-step
  "A step with its `:node` and `:program`, given the nodes as `nodes list` shows them; with
  `:error` where no node has the role."
  [{:keys [programs]} nodes draw {:keys [on] :as step}]
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
  "The faults and schedules in a word like `kill,pause`."
  [word]
  (into #{} (map keyword) (remove #{""} (str/split word #","))))
