; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker.config
  "Whether writes through several controllers behave as through one.

  ## What is assumed

  Only these operations change the services; a service begins with revision 1
  and no backends; a change raises the revision by one. All processes share one
  clock (Jepsen's). What was refused (`:fail`) changed nothing. What is `:info`, or
  never completed, may have happened at any later moment, or never. Final reads,
  `:final true`, come after everything has healed and all writers have ended.

  ## Linearizable, for each service by itself

  1. Leave out refused operations and reads without an answer.
  2. Give each invocation what its completion says, its revision included.
  3. Let Knossos search an order which keeps real time and in which the model
     (`model/pool`) gives each answer. Its default, the competition of both
     algorithms; what neither decides in time is unknown.

  ## Durable, for each service

  1. No final read shows a lower revision than any that was acknowledged.
  2. No two acknowledged writes of one revision make different things of a
     backend: then one of them is lost.
  3. In each final read, each backend is what its last acknowledged write, by
     revision, made of it, or what a write of unknown outcome would have made of it.

  ## What can mislead

  A lost write that a later one covers is seen by the first rule and not by
  the second. Many unknown outcomes excuse much, and make the search long. Why an
  operation was refused is not asked. A read that is missing proves nothing."
  (:require [fairlead.jepsen.model :as model]
            [fairlead.jepsen.verdict :refer [judged unknown]]
            [knossos.competition :as competition]))

(def search-milliseconds
  "How long an order is searched for, of each service."
  60000)

(defn- payload
  "What an operation is about, as the model takes it."
  [{:keys [f value revision]} known?]
  (let [[_ p] value]
    (case f
      :apply (cond-> {:weights p} known? (assoc :revision revision))
      :read  p
      (cond-> p known? (assoc :revision revision)))))

(defn operations
  "Invocations with their completions, in the order of invocations: maps of
  `:service :f :payload :call :return :index :process :final`, `:return` nil for
  an outcome that is not known. Refused ones and unanswered reads are left out."
  [ops]
  (let [entry (fn [op call return]
                {:service (first (:value op)) :f (:f op) :payload (payload op (some? return))
                 :call call :return return :index (:index op) :process (:process op) :final (:final op)})
        step  (fn [[done open] [position op]]
                (let [process (:process op)]
                  (cond
                    (= :nemesis process)
                    [done open]

                    (= :invoke (:type op))
                    (if (open process)
                      (throw (ex-info (str "operation " (:index op) ": process " process " has one under way already") {:op op}))
                      [done (assoc open process [position op])])

                    (nil? (open process))
                    (throw (ex-info (str "operation " (:index op) ": process " process " completes what it never invoked") {:op op}))

                    :else
                    (let [[call _] (open process)
                          open'    (dissoc open process)
                          ok?      (= :ok (:type op))]
                      (cond
                        (= :fail (:type op))                  [done open']
                        (and (= :read (:f op)) (not ok?))     [done open']
                        ok?                                   (let [each (entry op call position)]
                                                                (when-not (:revision (:payload each))
                                                                  (throw (ex-info (str "operation " (:index op) " is acknowledged without :revision") {:op op})))
                                                                [(conj done each) open'])
                        :else                                 [(conj done (entry op call nil)) open'])))))
        [done open] (reduce step [[] {}] (map-indexed vector ops))
        never       (for [[_ [call op]] open :when (not= :read (:f op))]
                      (entry op call nil))]
    (sort-by :call (into done never))))

(defn- knossos
  "Operations of one service as a history for Knossos. Each is a process of its
  own: that they came one after the other says their order in time already."
  [operations]
  (->> operations
       (map-indexed vector)
       (mapcat (fn [[n {:keys [f payload call return]}]]
                 (cond-> [[call {:process n :type :invoke :f f :value payload}]]
                   return (conj [return {:process n :type :ok :f f :value payload}]))))
       (sort-by first)
       (map-indexed (fn [index [at op]] (assoc op :index index :time at)))
       vec))

(defn- unexplained
  "The sentence about a search that found no order."
  [service {:keys [op]}]
  (str service ": no order explains " (if op (pr-str (select-keys op [:f :value])) "all answers together")))

(defn linearizable
  [ops _]
  (let [done    (operations ops)
        known   (count (filter :return done))
        results (into (sorted-map)
                      (for [[service of-service] (group-by :service done)]
                        (let [history (knossos of-service)]
                          [service (competition/analysis (model/pool (filter #(= :ok (:type %)) history)) history
                                                         {:time-limit search-milliseconds})])))
        against (for [[service result] results :when (false? (:valid? result))]
                  (unexplained service result))
        open    (first (remove #(boolean? (:valid? (val %))) results))]
    (cond
      (zero? known) (unknown "nothing was acknowledged")
      (seq against) (judged against nil)
      open          (unknown (key open) ": no order was found within " search-milliseconds " ms, nor that there is none")
      :else         (judged [] (str known " answers about " (count results) " services have an order")))))

(defn- made
  "What a write makes of a backend: `[weight]`, `[]` for gone, nil if nothing."
  [{:keys [f payload]} backend]
  (let [named? (= backend (:backend payload))]
    (case f
      :apply  (if-let [weight (get (:weights payload) backend)] [weight] [])
      :remove (when named? [])
      (when named? [(:weight payload)]))))

(defn- shown [state]
  (if (seq state) (str "weight " (first state)) "gone"))

(defn- lost-backend
  "Sentences against what a final read shows of one backend."
  [service writes found backend]
  (let [touching     (filter #(made % backend) writes)
        acknowledged (sort-by (comp :revision :payload) (filter :return touching))
        last-write   (last acknowledged)
        wanted       (if last-write (made last-write backend) [])
        allowed      (into #{wanted} (map #(made % backend)) (remove :return touching))]
    (concat
      (for [[revision same] (group-by (comp :revision :payload) acknowledged)
            :when (< 1 (count (set (map #(made % backend) same))))]
        (str service ": operations " (mapv :index same) " were all acknowledged with revision " revision
             ", and differ about backend " backend))
      (when-not (allowed found)
        [(str service ": backend " backend " should be " (shown wanted)
              (if last-write
                (str " (operation " (:index last-write) " was acknowledged)")
                " (the service began so)")
              ", the final read shows it " (shown found))]))))

(defn- lost
  "Sentences against one final read of a service, and the acknowledged writes."
  [service writes {{:keys [revision weights]} :payload}]
  (concat
    (for [{:keys [payload index]} (filter :return writes) :when (< revision (:revision payload))]
      (str service ": operation " index " was acknowledged with revision " (:revision payload)
           ", the final read shows " revision))
    (mapcat #(lost-backend service writes (if-let [weight (get weights %)] [weight] []) %)
            (sort (into (set (keys weights))
                        (comp (mapcat #(conj (keys (:weights (:payload %))) (:backend (:payload %))))
                              (remove nil?))
                        writes)))))

(defn durable
  [ops _]
  (let [services (into (sorted-map) (group-by :service (operations ops)))
        writes   (fn [done] (remove (comp #{:read} :f) done))
        finals   (fn [done] (filter #(and (= :read (:f %)) (:final %)) done))
        unread   (for [[service done] services
                       :when (and (some :return (writes done)) (empty? (finals done)))]
                   service)
        total    (count (filter :return (mapcat writes (vals services))))
        against  (distinct (for [[service done] services
                                 read           (finals done)
                                 sentence       (lost service (writes done) read)]
                             sentence))]
    (cond
      (seq unread)  (unknown (first unread) " has acknowledged writes, and no final read")
      (zero? total) (unknown "no write was acknowledged")
      :else         (judged against (str total " acknowledged writes are there")))))
