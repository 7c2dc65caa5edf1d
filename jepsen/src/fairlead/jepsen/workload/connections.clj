; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.workload.connections
  "Live connections, long and short, while backends are weighed and drained. Each Jepsen process holds one
  connection at a time from one of the clients' nodes; a small program there (resources/connections.py) makes
  them. One process changes the weights of the service that they use.

  A long one lives 15 to 50 % of the window, or as long as the schedule says, and weights change six times in
  the longest life. A share of them asks for MPTCP, another is idle: silent between the beginning and the end of its
  life.

  After healing uneven weights are set, and connections are opened only to be counted: the balance."
  (:require [clojure.data.json :as json]
            [clojure.java.io :as io]
            [dom-top.core :as dt]
            [fairlead.jepsen [checker :as checker]
                             [client :as client :refer [with-errors]]
                             [cluster :as cluster]]
            [jepsen [client :as jepsen.client]
                    [generator :as gen]
                    [random :as rand]
                    [util :as util]])
  (:import (java.io BufferedReader BufferedWriter)))

(defn- rolling
  "The weights of so many backends after the move `n`, by id: each is drained in turn, when it has got the most by the
  move before. So many buckets move twice in a row."
  [n backends]
  (-> (zipmap (range 1 (inc backends)) (cycle (rand/shuffle [50 100 150])))
      (assoc (inc (mod n backends)) 0)
      (assoc (inc (mod (inc n) backends)) 200)))

(def open-seconds
  "The first change comes so late that long connections are there to be moved, unless a switch says when."
  5)

(defn- weigh-seconds
  "How often weights change: six times in the longest life."
  [scenarios lives]
  (* (get-in scenarios [:cluster :window-seconds]) (second lives) 1/6 1.05))

(defn- weighing
  "Changes of weights: at the times of `moves`, or from time to time."
  [scenarios lives moves]
  (let [{:keys [service servers]} (:cluster scenarios)
        changes (map (fn [n] {:f :weigh, :value [service (rolling n servers)]}) (range))]
    (if moves
      (mapcat (fn [pause change] [(gen/sleep pause) change]) (map - moves (cons 0 moves)) changes)
      [(gen/sleep open-seconds) (gen/delay (weigh-seconds scenarios lives) changes)])))

(def counted-connections
  "How many are opened to see how new connections are shared out."
  600)

(def outlive-seconds
  "How long long-lived connections continue after the last fault was to end, unless they end earlier."
  10)

;; The program on each client's node.

(defn- agent!
  "Starts the program on a node and waits until it reads orders: what waited for it would be dated before it began.
  `{:out writer :waiting atom}`. Answers go to the promises in `waiting`, by id."
  [test node]
  (let [program (slurp (io/resource "connections.py"))
        process (.. (ProcessBuilder. ^java.util.List (vec (cluster/words test ["nodes" "exec" node "--" "python3" "-u" "-c" program])))
                    (redirectError java.lang.ProcessBuilder$Redirect/INHERIT)
                    start)
        waiting (atom {})
        ^BufferedReader in (io/reader (.getInputStream process))]
    (when-not (.readLine in)
      (throw (ex-info (str "the program that makes connections does not start on " node) {:node node})))
    (future
      (with-open [in in]
        (doseq [line (line-seq in)]
          (let [{:keys [id] :as told} (json/read-str line :key-fn keyword)
                answer                (get @waiting id)]
            (swap! waiting dissoc id)
            (deliver answer told))))
      (doseq [answer (vals @waiting)]
        (deliver answer nil)))
    {:out (io/writer (.getOutputStream process)), :waiting waiting, :node node}))

(defn- agents!
  "The programs on all clients' nodes, kept in a cell for all processes and started by the first of them."
  [cell test]
  (locking cell
    (or @cell
        (reset! cell (mapv #(agent! test (:node %)) (cluster/with-role (:state test) :client))))))

(defn- hold!
  "Holds one connection and waits for its end; throws if the program on the node has died."
  [{:keys [^BufferedWriter out waiting node]} order]
  (let [answer (promise)]
    (swap! waiting assoc (:id order) answer)
    (locking out
      (.write out (str (json/write-str order) "\n"))
      (.flush out))
    (or @answer
        (throw (ex-info (str "the program that makes connections on " node " has ended") {:node node})))))

(defn- connection
  "The value of a connection that has ended, in the history's nanoseconds."
  [from {:keys [id client kind]} {:keys [requests servers end seconds last subflows stalls]}]
  (let [at #(+ from (long (* 1e9 %)))]
    {:id id, :subflows (or subflows 0), :client client, :kind kind, :requests requests, :servers servers, :end (keyword end)
     :from from, :to (at seconds), :last-answer (if last (at last) 0), :stalls (mapv #(mapv at %) stalls)}))

(defn- settings [test] (get-in test [:scenarios :workloads :connections]))

(defn- order
  [test id kind seconds]
  {:id id, :kind (name kind), :seconds seconds
   :host (get-in test [:state :vip]), :port (get-in test [:state :port])
   :pause (/ 1.0 (:requests-per-second (settings test)))
   :answer (:answer-seconds (settings test))})

(defn- connect!
  [{:keys [cell ids]} test {{:keys [kind seconds]} :value :as op}]
  (let [id     (swap! ids inc)
        agents (agents! cell test)
        agent  (nth agents (mod id (count agents)))
        from   (util/relative-time-nanos)
        told   (hold! agent (order test id kind seconds))]
    (cond-> (assoc op :type :ok :value (connection from {:id id, :client (:node agent), :kind kind} told))
      (:why told) (assoc :error (:why told)))))

;; Weights and shares.

(defn- backends-url [test base]
  (str base "/v1/services/" (get-in test [:state :service]) "/backends"))

(defn- urls
  "The controllers' addresses, another one first each time."
  [test]
  (shuffle (map :rest (cluster/with-role (:state test) :controller))))

(defn- weigh!
  "Sets weights of backends. An unknown outcome needs no care: only connections are judged."
  [{:keys [http]} test {[_ weights] :value :as op}]
  (with-errors op #{}
    (let [base    (first (urls test))
          changes (for [[id weight] weights] {:op "weight", :id id, :weight weight})
          answer  (client/request! http 10 :post (str base "/v1/services/" (get-in test [:state :service]) "/changes?force=true")
                                   (client/authorized (:state test) {:body {:changes changes}}))]
      (if (= 200 (:status answer))
        (assoc op :type :ok)
        (assoc op :type (client/outcome answer) :error (client/sentence answer))))))

(defn- serving?
  "Whether all muxes serve a generation of the service."
  [http test generation]
  (every? (fn [mux]
            (let [{:keys [body]} (client/request! http 5 :get (str (:http mux) "/rings") {})]
              (some #(= [(get-in test [:state :service]) generation] ((juxt :service :generation) %)) (:rings body))))
          (cluster/with-role (:state test) :mux)))

(defn- shares!
  "Waits until all muxes serve the last generation, opens connections and counts who answers."
  [{:keys [http cell ids]} test op]
  (with-errors op #{:shares}
    (let [url     (backends-url test (first (urls test)))
          {:keys [body etag]} (client/request! http 10 :get url (client/authorized (:state test) {}))
          _       (util/await-fn #(or (serving? http test (client/revision etag))
                                      (throw (ex-info "not all muxes serve the last generation" {})))
                                 {:timeout 60000, :log-interval 10000})
          byname  (into {} (map (juxt :address :node)) (cluster/with-role (:state test) :server))
          ids-of  (into {} (for [{:keys [id address]} body] [(byname address) id]))
          agents  (agents! cell test)
          told    (dt/bounded-pmap (fn [n]
                                       (hold! (nth agents (mod n (count agents)))
                                              (order test (swap! ids inc) :tcp 0)))
                                     (range counted-connections))
          _       (when-let [{:keys [end why]} (first (remove #(= "closed" (:end %)) told))]
                    (throw (ex-info (str "a connection for counting shares broke: " end " " why) {})))
          counts  (frequencies (map #(ids-of (first (:servers %))) told))]
      (assoc op :type :ok :value {:service     (get-in test [:state :service])
                                  :weights     (into {} (map (juxt :id :weight)) body)
                                  :buckets     (into {} (map (juxt :id :buckets)) body)
                                  :connections counts}))))

(defrecord Client [http cell ids]
  jepsen.client/Client
  (open! [this _ _] this)
  (setup! [_ _])

  (invoke! [this test op]
    (case (:f op)
      :connection (connect! this test op)
      :weigh      (weigh! this test op)
      :shares     (shares! this test op)))

  (teardown! [_ _]
    (doseq [{:keys [^BufferedWriter out]} @cell]
      (.close out)))

  (close! [_ _])

  jepsen.client/Reusable
  (reusable? [_ _] true))

(defn- long-connection
  "A connection of a kind and a life that are drawn; the last ones end when the faults have healed."
  [{:keys [scenarios time-limit lives]}]
  (fn [_ ctx]
    (let [left         (- (+ time-limit outlive-seconds) (/ (:time ctx) 1e9))
          [least most] lives
          life         (* (get-in scenarios [:cluster :window-seconds]) (+ least (rand/double (- most least))))
          {:keys [mptcp idle] :or {mptcp 0, idle 0}} (get-in scenarios [:workloads :connections])
          draw         (rand/double)
          kind         (cond (< draw mptcp) :mptcp, (< draw (+ mptcp idle)) :idle, :else :tcp)]
      {:f :connection, :value {:kind kind, :seconds (max 1 (min left life))}})))

(defn workload
  "`:threads` long connections at a time, short ones at the scenario's rate, a change of weights now and then."
  [{:keys [scenarios connections lives moves] :as opts}]
  (let [{:keys [short-per-second]} (get-in scenarios [:workloads :connections])
        service  (get-in scenarios [:cluster :service])
        servers  (get-in scenarios [:cluster :servers])
        connections (or connections (get-in scenarios [:workloads :connections :connections]))
        shorts   (max 4 (quot short-per-second 2))
        uneven   {:f :weigh, :value [service (zipmap (range 1 (inc servers)) (cycle [100 50 150 0 100]))]}]
    {:threads         (+ connections shorts 1)
     :client          (Client. (client/http) (atom nil) (atom 0))
     :generator       (gen/reserve
                        connections (long-connection opts)
                        shorts      (gen/stagger (/ short-per-second)
                                                 (gen/repeat {:f :connection, :value {:kind :tcp, :seconds 0}}))
                        (weighing scenarios lives moves))
     :final-generator (for [op [uneven {:f :shares}]]
                        (gen/until-ok (gen/delay 1 (gen/repeat op))))
     :checker         (merge {:breaks checker/breaks
                              :mptcp (checker/mptcp (get-in scenarios [:workloads :connections :mptcp] 0))
                              :idle (checker/idle (get-in scenarios [:workloads :connections :idle] 0))}
                             (checker/checkers :connections opts)
                             (checker/checkers :balance (get-in scenarios [:workloads :balance])))}))
