; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker-test
  "The shared histories, good ones and one wrong per property, must be judged as
  they say; the harness in Go judges the same files."
  (:require [clojure [edn :as edn]
                     [string :as str]
                     [test :refer [deftest is testing]]]
            [clojure.java.io :as io]
            [fairlead.jepsen.checker :as checker]
            [fairlead.jepsen.checker.config :as config]
            [fairlead.jepsen.model :as model]))

(defn forms
  "All forms of a file of EDN."
  [file]
  (with-open [reader (java.io.PushbackReader. (io/reader file))]
    (vec (take-while (partial not= ::end) (repeatedly #(edn/read {:eof ::end} reader))))))

(defn files
  []
  (sort (filter #(str/ends-with? (.getName ^java.io.File %) ".edn")
                (file-seq (io/file "histories")))))

(deftest shared-histories
  (let [rejected (atom #{})]
    (doseq [file (files)]
      (testing (.getName ^java.io.File file)
        (let [[header & ops] (forms file)
              verdicts       (checker/judge (:workload header) ops header)]
          (is (= (:expect header) (update-vals verdicts :valid?)) (pr-str verdicts))
          (doseq [[verdict {:keys [valid? why examples]}] verdicts]
            (is (string? why))
            (when (false? valid?)
              (swap! rejected conj verdict)
              (is (seq examples)))))))
    (testing "each verdict refuses at least one of them"
      (is (= (set (mapcat keys (vals checker/verdicts))) @rejected)))))

(defn add [process type index & {:as more}]
  (merge {:index index :time index :process process :type type :f :add :value ["a" {:backend 1 :weight 1}]} more))

(deftest what-a-history-does-not-say-is-unknown
  (doseq [[why workload verdict ops]
          [["nothing was written" :config :linearizable []]
           ["nothing was acknowledged" :config :durable
            [(add 0 :invoke 0) (add 0 :info 1)]]
           ["no final read" :config :durable
            [(add 0 :invoke 0) (add 0 :ok 1 :revision 2)]]
           ["nothing was applied" :generations :image
            [{:index 0 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}]]
           ["a commit was missed" :generations :prefix
            [{:index 0 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}
             {:index 1 :process 0 :type :ok :f :commit :value {:service "a" :generation 3 :sum "00" :epoch 1}}
             {:index 2 :process 0 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 2 :sum "00"}}]]
           ["a mux's log has a hole" :generations :prefix
            [{:index 0 :process 0 :type :ok :f :observe
              :value {:commits [{:service "a" :generation 1 :sum "00" :epoch 1}]
                      :applied [{:mux "mux1" :service "a" :generation 1 :sum "00" :how "snapshot" :boot "b"}]
                      :gaps    ["mux1"]}}]]
           ["of a mux nothing but the end was seen" :generations :prefix
            [{:index 0 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}
             {:index 1 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 1 :sum "00" :how "snapshot" :boot "b"}}
             {:index 2 :process 1 :type :ok :f :applied :value {:mux "mux1" :service "a" :generation 1 :sum "00"} :final true}
             {:index 3 :process 2 :type :ok :f :applied :value {:mux "mux2" :service "a" :generation 1 :sum "00"} :final true}]]
           ["nobody was asked" :generations :converged
            [{:index 0 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00" :epoch 1}}]]
           ["a commit without epoch" :generations :fenced
            [{:index 0 :process 0 :type :ok :f :commit :value {:service "a" :generation 1 :sum "00"}}]]
           ["no connection" :connections :unbroken []]
           ["no answer" :connections :sticky
            [{:index 0 :process 0 :type :ok :f :connection
              :value {:id 1 :client "client1" :kind :tcp :requests 0 :servers [] :end :alive :from 0 :to 1 :last-answer 0}}]]
           ["the program that held a connection is gone" :connections :unbroken
            [{:index 0 :process 0 :type :ok :f :connection
              :value {:id 1 :client "client1" :kind :tcp :requests 2 :servers ["server1"] :end :closed :from 0 :to 9 :last-answer 8}}
             {:index 1 :process 1 :type :info :f :connection :value {:kind :tcp :seconds 30} :error "it has ended" :exception {}}]]
           ["no shares" :balance :balanced []]
           ["no connections to count" :balance :balanced
            [{:index 0 :process 0 :type :ok :f :shares
              :value {:service "a" :weights {1 1} :buckets {1 1} :connections {}}}]]]]
    (testing why
      (is (= :unknown (get-in (checker/judge workload ops {}) [verdict :valid?]))))))

(deftest what-is-no-history-is-refused
  (doseq [[workload op says]
          [[:config {:index 0 :process 0 :type :invoke :f :grow :value ["a" {}]} #":f :grow"]
           [:config (add 0 :ok 0 :revision 2) #"never invoked"]
           [:connections {:index 0 :process 0 :type :ok :f :connection :value {:end :bored}} #"end :bored"]]]
    (is (thrown-with-msg? clojure.lang.ExceptionInfo says (checker/judge workload [op] {})))))

(deftest unknown-outcomes
  (let [ops  (fn [weight]
               [(add 0 :invoke 0) (add 0 :info 1)
                {:index 2 :time 2 :process 1 :type :invoke :f :read :value ["a" nil]}
                {:index 3 :time 3 :process 1 :type :ok :f :read :value ["a" {:revision 2 :weights {1 weight}}] :final true}])]
    (is (true? (get-in (checker/judge :config (ops 1) {}) [:linearizable :valid?])) "it may have happened")
    (is (false? (get-in (checker/judge :config (ops 9) {}) [:linearizable :valid?])) "but not as something else")))

(deftest faults-of-this-suite
  (let [connection (fn [server from to]
                     {:index 9 :time to :process 1 :type :ok :f :connection
                      :value {:id 1 :client "client1" :kind :tcp :requests 3 :servers [server] :end :reset
                              :from from :to to :last-answer to}})
        nemesis    (fn [index f value] {:index index :time (* 100 index) :process :nemesis :type :info :f f :value value})
        resolved   {:fault :kill :on :server :node "server1" :may-break :connections-of-node}
        judged     (fn [c] (get-in (checker/judge :connections
                                                  [(nemesis 1 :start-kill {:fault :kill :on :server})
                                                   (nemesis 2 :start-kill resolved)
                                                   (nemesis 3 :heal-kill {:fault :kill :node "server1"})
                                                   (nemesis 4 :heal-kill {:fault :kill :node "server1"})
                                                   c] {})
                                   [:unbroken :valid?]))]
    (is (true? (judged (connection "server1" 0 150))) "while the start ran")
    (is (true? (judged (connection "server1" 0 399))) "until the heal was done")
    (is (false? (judged (connection "server2" 0 150))) "of another server")
    (is (false? (judged (connection "server1" 0 50))) "before")
    (is (false? (judged (connection "server1" 401 450))) "after")))

;; The model prunes what cannot be; a search that prunes nothing must come to the same.

(defn history
  "A few writers' operations on one service, of unknown outcome now and then: some of those took place, at once or later."
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
                           pruned (:valid? (config/linearizable ops {}))
                           naive  (with-redefs [model/could-make? (constantly true)]
                                    (:valid? (config/linearizable ops {})))]
                       (is (= naive pruned) (str "seed " seed ", " (if lie? "with" "without") " a lie"))
                       (when-not lie?
                         (is (not (false? pruned)) (str "seed " seed)))
                       pruned)))]
    (is (< 3 (verdicts false)) (pr-str verdicts))
    (is (< 25 (verdicts true)) (pr-str verdicts))))

(deftest many-unknown-outcomes-are-judged-soon
  (let [unknown (mapcat (fn [n] [(add n :invoke 0 :value ["a" {:backend (+ 2 n) :weight n}]) (add n :info 0 :value ["a" {:backend (+ 2 n) :weight n}])])
                        (range 40))
        known   (mapcat (fn [n] (let [value ["a" {:backend 1 :weight n}]]
                                  [(add (+ 100 n) :invoke 0 :value value) (add (+ 100 n) :ok 0 :value value :revision (+ 2 n))]))
                        (range 60))
        ops     (map-indexed #(assoc %2 :index %1 :time %1) (concat unknown known))]
    (is (true? (:valid? (config/linearizable ops {}))))))
