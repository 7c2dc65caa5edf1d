; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.rules-test
  "The rules against jepsen/rules.edn and the shared histories, as the harness in Go has them,
  and the model of a pool. Needs no Jepsen: an exhaustive search takes the place of Knossos."
  (:require [clojure [edn :as edn]
                     [set :as set]
                     [test :refer [deftest is testing]]]
            [clojure.java.io :as io]
            [fairlead.jepsen [model :as model]
                             [rules :as rules]
                             [search :as search]]
            [fairlead.jepsen.checker.config :as config]))

(defn forms
  "All forms of a file of EDN."
  [file]
  (with-open [reader (java.io.PushbackReader. (io/reader file))]
    (vec (take-while (partial not= ::end) (repeatedly #(edn/read {:eof ::end} reader))))))

(def specified
  "The rules of jepsen/rules.edn: maps with `:of`, the verdict or `:refused`, and `:name`."
  (for [[of by-name] (first (forms "rules.edn")), [name rule] by-name]
    (assoc rule :of of :name name)))

(def histories
  "The shared histories by name, except those of rules that only the harness in Go has."
  (let [go (set (mapcat :histories (filter #(= :go (:only %)) specified)))]
    (into (sorted-map)
          (for [file (file-seq (io/file "histories"))
                :let  [[_ name] (re-matches #"(.*)\.edn" (.getName ^java.io.File file))]
                :when (and name (not (go name)))]
            [name (forms file)]))))

(deftest verdicts-are-those-of-the-specification
  (is (= (set (mapcat keys (vals rules/verdicts))) (disj (set (map :of specified)) :refused)))
  (is (empty? (set/difference (set (keys histories)) (set (mapcat :histories specified)))) "each history pins a rule")
  (is (every? (comp seq :histories) specified) "each rule has a history"))

(deftest each-rule-is-reported
  (let [found (set (for [[header & ops] (vals histories)
                         :when          (not (:refused header))
                         [name verdict] (rules/judge (:workload header) ops (assoc header :search search/search))
                         rule           (:rules verdict)]
                     [name rule]))]
    (is (= found (set (for [{:keys [of name verdict only]} specified
                            :when (and (contains? #{false :unknown} verdict) (not= :go only))]
                        [of name]))))))

(deftest shared-histories
  (doseq [[file [header & ops]] histories
          :let [settings (assoc header :search search/search)]]
    (testing file
      (if-let [refused (:refused header)]
        (is (thrown-with-msg? clojure.lang.ExceptionInfo (re-pattern refused)
                              (rules/judge (:workload header) ops settings)))
        (let [verdicts (rules/judge (:workload header) ops settings)]
          (is (= (:expect header) (update-vals verdicts :valid?)) (pr-str verdicts))
          (doseq [[name {:keys [valid? rules why examples]}] verdicts
                  :let [naming (filter #(and (= name (:of %)) (some #{file} (:histories %))) specified)]]
            (is (string? why))
            (is (every? #(= valid? (:verdict %)) naming) name)
            (when-not (true? valid?)
              (is (= (set (map :name naming)) (set rules)) (str name ": " why)))
            (when (false? valid?)
              (is (seq examples) name))))))))

(defn- judge
  "Whether operations of one service have an order."
  [ops]
  (:valid? (config/linearizable ops {:search search/search})))

;; The model prunes what cannot be; a search without pruning must find the same.

(defn history
  "A few writers' operations on one service, some of unknown outcome: those took effect at once, later or never."
  [^java.util.Random random lie?]
  (let [weight #(nth [0 50] (.nextInt random 2))
        draw   #(case (.nextInt random 4)
                  0 [:add {:backend (inc (.nextInt random 2)) :weight (weight)}]
                  1 [:weight {:backend (inc (.nextInt random 2)) :weight (weight)}]
                  2 [:remove {:backend (inc (.nextInt random 2))}]
                  3 [:read nil])
        put    (fn [[revision weights] [f payload]]
                 (let [weights' (model/write revision weights f payload)]
                   (cond (nil? weights') nil
                         (= weights weights') [revision weights]
                         :else [(inc revision) weights'])))]
    (loop [n 0, pool [1 {}], late [], ops []]
      (if (= n 12)
        (map-indexed #(assoc %2 :index %1 :time %1) ops)
        (let [[due late]    (if (and (seq late) (zero? (.nextInt random 3))) [(first late) (rest late)] [nil late])
              pool          (or (and due (put pool due)) pool)
              [f payload]   (draw)
              unknown?      (and (not= :read f) (zero? (.nextInt random 3)))
              later?        (.nextBoolean random)
              done          (if (= :read f) pool (put pool [f payload]))
              [revision weights] (if (and lie? (zero? (.nextInt random 6))) (update (or done pool) 0 inc) done)
              invoke        {:process n :type :invoke :f f :value ["a" payload]}]
          (cond
            unknown?   (recur (inc n) (if later? pool (or done pool)) (if later? (concat late [[f payload]]) late)
                              (conj ops invoke (assoc invoke :type :info)))
            (nil? done) (recur (inc n) pool late (conj ops invoke (assoc invoke :type :fail)))
            (= :read f) (recur (inc n) pool late (conj ops invoke (assoc invoke :type :ok :value ["a" {:revision revision :weights weights}])))
            :else       (recur (inc n) done late (conj ops invoke (assoc invoke :type :ok :revision revision)))))))))

(deftest pruned-searches-judge-like-naive-ones
  (let [verdicts (frequencies
                   (for [seed (range 25), lie? [false true]]
                     (let [ops    (history (java.util.Random. seed) lie?)
                           pruned (judge ops)
                           naive  (with-redefs [model/could-make? (constantly true)] (judge ops))]
                       (is (= naive pruned) (str "seed " seed ", " (if lie? "with" "without") " a lie"))
                       (when-not lie?
                         (is (not (false? pruned)) (str "seed " seed)))
                       pruned)))]
    (is (< 3 (verdicts false)) (pr-str verdicts))
    (is (< 25 (verdicts true)) (pr-str verdicts))))

(defn many-unknown
  "Forty writes that never took effect, and sixty that did."
  []
  (let [add     (fn [process type value more]
                  (merge {:process process :type type :f :add :value ["a" value]} more))
        unknown (mapcat (fn [n] (let [value {:backend (+ 2 n) :weight n}]
                                  [(add n :invoke value nil) (add n :info value nil)]))
                        (range 40))
        known   (mapcat (fn [n] (let [value {:backend 1 :weight n}]
                                  [(add (+ 100 n) :invoke value nil) (add (+ 100 n) :ok value {:revision (+ 2 n)})]))
                        (range 60))]
    (map-indexed #(assoc %2 :index %1 :time %1) (concat unknown known))))

(deftest many-unknown-outcomes-are-judged-soon
  (is (true? (judge (many-unknown)))))
