; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker.config
  "Whether writes through several controllers behave as through one.

  ## What is assumed

  Only these operations change the services; a service begins with revision 1
  and no backends; a change raises the revision by one. All processes share one
  clock (Jepsen's). What was refused (`:fail`) changed nothing. What is `:info`, or
  never completed, may have taken effect at any later moment, or never. Final reads,
  `:final true`, come after everything has healed and all writers have stopped.

  ## Linearizable, for each service by itself

  1. Leave out refused operations and reads without an answer.
  2. Give each invocation what its completion has, the revision included.
  3. Search an order that agrees with real time and in which the model (`model/pool`)
     gives each answer. The search is a setting, `:search`: Knossos in a run; what it
     does not decide in time is unknown.

  ## Durable, for each service

  1. No final read has a lower revision than an acknowledged write.
  2. No two acknowledged writes at one revision leave a backend in different
     states: then one of them is lost.
  3. In each final read, each backend is as its last acknowledged write, by
     revision, left it, or as a write of unknown outcome would have.

  ## What can mislead

  A lost write that a later one covers is seen by the first rule and not by
  the second. Many unknown outcomes excuse much, and make the search long. The
  reason for a refusal is not checked. A missing read proves nothing."
  (:require [fairlead.jepsen.model :as model]
            [fairlead.jepsen.verdict :refer [judged unknown]]))

(def search-limit
  "Milliseconds that the search for an order may take, for each service."
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
                    (throw (ex-info (str "operation " (:index op) ": process " process " completes an operation that it never invoked") {:op op}))

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

(defn- paired
  "Operations of one service as the history that a search takes. Each has a process of its own:
  positions already have the order in time."
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
  "`search` takes a pool, a history and milliseconds, as `knossos/search` does."
  [ops {:keys [search search-milliseconds]}]
  (let [done    (operations ops)
        limit   (or search-milliseconds search-limit)
        known   (count (filter :return done))
        results (into (sorted-map)
                      (for [[service of-service] (group-by :service done)]
                        (let [history (paired of-service)]
                          [service (search (model/pool (filter #(= :ok (:type %)) history)) history limit)])))
        against (for [[service result] results :when (false? (:valid? result))]
                  [:no-order (unexplained service result)])
        open    (first (remove #(boolean? (:valid? (val %))) results))]
    (cond
      (zero? known) (unknown :nothing-acknowledged "nothing was acknowledged")
      (seq against) (judged against nil)
      open          (unknown :out-of-time (key open) ": no order was found within " limit " ms, nor that there is none")
      :else         (judged [] (str known " answers about " (count results) " services have an order")))))

(defn- made
  "The state in which a write leaves a backend: `[weight]`, `[]` for gone, nil if it does not touch it."
  [{:keys [f payload]} backend]
  (let [named? (= backend (:backend payload))]
    (case f
      :apply  (if-let [weight (get (:weights payload) backend)] [weight] [])
      :remove (when named? [])
      (when named? [(:weight payload)]))))

(defn- shown [state]
  (if (seq state) (str "weight " (first state)) "gone"))

(defn- lost-backend
  "Violations in what a final read shows of one backend."
  [service writes found backend]
  (let [touching     (filter #(made % backend) writes)
        acknowledged (sort-by (comp :revision :payload) (filter :return touching))
        last-write   (last acknowledged)
        wanted       (if last-write (made last-write backend) [])
        revision     (comp :revision :payload)
        allowed      (into #{wanted}
                           (map #(made % backend))
                           (concat (remove :return touching)
                                   (when last-write (filter #(= (revision last-write) (revision %)) acknowledged))))]
    (concat
      (for [[revision same] (group-by revision acknowledged)
            :when (< 1 (count (set (map #(made % backend) same))))]
        [:shared-revision (str service ": operations " (mapv :index same) " were all acknowledged with revision " revision
                               ", and differ about backend " backend)])
      (when-not (allowed found)
        [[:lost (str service ": backend " backend " should be " (shown wanted)
                     (if last-write
                       (str " (operation " (:index last-write) " was acknowledged)")
                       " (as the service began)")
                     ", the final read shows it " (shown found))]]))))

(defn- lost
  "Violations in one final read of a service."
  [service writes {{:keys [revision weights]} :payload}]
  (concat
    (for [{:keys [payload index]} (filter :return writes) :when (< revision (:revision payload))]
      [:older-read (str service ": operation " index " was acknowledged with revision " (:revision payload)
                        ", the final read shows " revision)])
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
        against  (for [[service done] services
                       read           (finals done)
                       violation      (lost service (writes done) read)]
                   violation)]
    (cond
      (seq unread)  (unknown :no-final-read (first unread) " has acknowledged writes, and no final read")
      (zero? total) (unknown :nothing-written "no write was acknowledged")
      :else         (judged against (str total " acknowledged writes are there")))))
