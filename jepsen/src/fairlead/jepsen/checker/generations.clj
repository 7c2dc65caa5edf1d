; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker.generations
  "Whether every mux serves what was committed, by the leader of the time.

  ## What is assumed

  The observer saw every commit, and what each mux applied in the mux's order.
  Sums cover whole rings (jepsen/README.md); the observer computes its own from the
  committed snapshots and deltas. A commit's epoch and place in ZooKeeper's order
  come from the record that ZooKeeper took in the same transaction. Final reads come
  after everything has healed and all writers have stopped.

  ## Rules

  - prefix: of each mux and service, each applied generation was committed; within
    one process of a mux a delta leads to the next generation, a snapshot to any
    later one; another process may begin at any committed generation.
  - image: each committed generation has one sum, and the same one wherever a
    mux applied it.
  - converged: each mux that applied anything, or was asked, has a final read of the
    last committed generation of each service.
  - fenced: in ZooKeeper's order, and for each service in order of generations, epochs
    of commits never go back.

  ## What can mislead

  CRC-32C detects accidents, not malice. Of a large ring muxes report a sum only in
  final reads, so image sees no other. A commit that was not seen although a later one
  was, a gap in a mux's log, and a mux whose log was never seen leave prefix unknown. A
  mux that no operation names is not missed. A commit of a replaced leader before the
  first one of its successor is not seen."
  (:require [fairlead.jepsen.verdict :refer [judged unknown]]))

(defn- commits
  [ops]
  (map :value (filter #(and (= :commit (:f %)) (= :ok (:type %))) ops)))

(defn- applied
  "What muxes applied, final reads among it, in order; each with `:final`."
  [ops]
  (map #(assoc (:value %) :final (boolean (:final %)))
       (filter #(and (= :applied (:f %)) (= :ok (:type %))) ops)))

(defn- asked
  "All muxes that applied anything, or were asked in the end."
  [ops]
  (into (sorted-set) (map (comp :mux :value))
        (filter #(and (= :applied (:f %)) (or (= :ok (:type %)) (:final %))) ops)))

(defn- sums
  "By `[service generation]`, the sum that was seen first."
  [commits]
  (reduce (fn [known {:keys [service generation sum]}]
            (cond-> known
              (not (contains? known [service generation])) (assoc [service generation] sum)))
          {} commits))

(defn- latest
  "By service, the highest committed generation."
  [commits]
  (reduce (fn [m {:keys [service generation]}] (update m service (fnil max 0) generation))
          (sorted-map) commits))

(defn- too-little
  "An unknown verdict unless there are commits and applied generations."
  [ops]
  (let [c (count (commits ops)), a (count (applied ops))]
    (when (or (zero? c) (zero? a))
      (unknown :too-little c " commits and " a " applied generations were seen"))))

(defn- named
  [{:keys [mux generation service]}]
  (str mux " applied generation " generation " of " service))

(defn- uncommitted
  "The violation, if the generation was never committed."
  [known latest {:keys [service generation] :as each}]
  (when-not (contains? known [service generation])
    (when (or (< generation 1) (< (get latest service 0) generation))
      [:never-committed (str (named each) ", which was never committed; the last one is " (get latest service 0))])))

(defn- misstep
  "The violation, if a mux may not go from one applied generation to the next."
  [before {:keys [generation how] :as each}]
  (when (= (:boot before) (:boot each))
    (cond
      (<= generation (:generation before))
      [:back (str (named each) " after generation " (:generation before))]

      (and (< (inc (:generation before)) generation) (not= :snapshot (keyword how)))
      [:skipped (str (named each) " after generation " (:generation before) ", and no snapshot")])))

(defn prefix
  [ops _]
  (or (too-little ops)
      (let [all     (applied ops)
            known   (sums (commits ops))
            last-of (latest (commits ops))
            steps   (mapcat #(keep (partial apply misstep) (partition 2 1 %))
                            (vals (group-by (juxt :mux :service) (remove :final all))))
            against (concat (keep #(uncommitted known last-of %) all) steps)
            missed  (first (remove #(contains? known [(:service %) (:generation %)]) all))
            gap     (first (filter #(= :gap (:f %)) ops))
            unseen  (first (remove (into #{} (map :mux) (remove :final all)) (asked ops)))]
        (cond
          (seq against) (judged against nil)
          missed        (unknown :unseen-commit (named missed) ", whose commit was not seen")
          gap           (unknown :log-gap "not all that " (:mux (:value gap)) " applied was seen")
          unseen        (unknown :mux-unseen "nothing that " unseen " applied was seen")
          :else         (judged [] (str (count all) " generations applied by " (count (asked ops)) " muxes, of "
                                        (count (commits ops)) " committed"))))))

(defn image
  [ops _]
  (or (too-little ops)
      (let [known    (sums (commits ops))
            compared (filter #(and (contains? known [(:service %) (:generation %)]) (seq (:sum %))) (applied ops))
            against  (concat
                       (for [{:keys [service generation sum]} (commits ops)
                             :when (not= sum (known [service generation]))]
                         [:two-sums (str "generation " generation " of " service " was committed as "
                                         (known [service generation]) " and as " sum)])
                       (for [{:keys [mux service generation sum]} compared
                             :when (not= sum (known [service generation]))]
                         [:other-ring (str mux " has " sum " as generation " generation " of " service ", committed was "
                                           (known [service generation]))]))]
        (if (empty? compared)
          (unknown :nothing-compared "no applied generation is among the commits that were seen")
          (judged against (str (count compared) " applied rings are those that were committed"))))))

(defn converged
  [ops _]
  (let [last-of (latest (commits ops))
        muxes   (asked ops)
        final   (into {} (for [each (applied ops) :when (:final each)]
                           [[(:mux each) (:service each)] (:generation each)]))
        against (for [mux muxes, [service generation] last-of
                      :let  [serves (final [mux service])]
                      :when (not= serves generation)]
                  (if serves
                    [:behind (str mux " serves generation " serves " of " service " after healing; the last commit is " generation)]
                    [:silent (str mux " reports no ring of " service " after healing; the last commit is " generation)]))]
    (if (or (empty? last-of) (empty? muxes))
      (unknown :too-little (count last-of) " services were seen, and " (count muxes) " muxes")
      (judged against (str (count muxes) " muxes serve the last generation of " (count last-of) " services")))))

(defn- went-back
  "Violations of `rule`: a commit in an earlier epoch than the one before it."
  [rule commits]
  (for [[a b] (partition 2 1 commits) :when (< (:epoch b) (:epoch a))]
    [rule (str "generation " (:generation b) " of " (:service b) " was committed in epoch " (:epoch b)
               ", after generation " (:generation a) " of " (:service a) " in epoch " (:epoch a))]))

(defn fenced
  [ops _]
  (let [all     (commits ops)
        strange (first (remove :epoch all))
        against (when-not strange
                  (concat (mapcat #(went-back :epoch-back (sort-by :generation %)) (vals (group-by :service all)))
                          (when (every? :zxid all)
                            (went-back :epoch-back-by-zxid (sort-by :zxid all)))))]
    (cond
      (empty? all) (unknown :no-commit "no commit was seen")
      strange      (unknown :no-epoch "generation " (:generation strange) " of " (:service strange) " has no epoch")
      :else        (judged against (str (count all) " commits in " (count (set (map :epoch all)))
                                                   " epochs, one after the other")))))
