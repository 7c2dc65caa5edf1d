; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.workload.config
  "Concurrent writers through different controllers: each Jepsen client asks one of them, adds, weighs and
  removes backends, sets whole pools, and writes under the condition that it was the last to read.

  The services are independent keys, some at a time. Each has a limit of operations, because the search for an order
  takes longer the more there are; then another one takes its place. Backends are the cluster's servers; no traffic
  goes to them."
  (:require [fairlead.jepsen [checker :as checker]
                             [client :as client :refer [with-errors]]
                             [cluster :as cluster]]
            [jepsen [client :as jepsen.client]
                    [generator :as gen]
                    [random :as rand]]))

(def operations-per-service
  "Of which Knossos finds an order within seconds, also under faults."
  400)

(def window-seconds
  "Removed backends can be added again after so long, so that there is always something to do."
  1)

(defn service-name [n]
  (str "config-" n))

(defn- vip [service]
  (str "10.99.1." (parse-long (subs service (count "config-")))))

(defn- spec [service]
  {:vips [(vip service)], :ports [{:protocol "tcp", :port 80}], :windowSeconds window-seconds})

(defn services
  "The names of all services: so many at a time as the scenario says, and so many after one another that none has more
  than its limit of operations."
  [{:keys [scenarios time-limit]}]
  (let [{:keys [services rate]} (get-in scenarios [:workloads :config])
        turns (max 1 (long (Math/ceil (/ (* rate time-limit) (* services operations-per-service)))))]
    (mapv service-name (range 1 (inc (* services turns))))))

(defn- url [base service & more]
  (apply str base "/v1/services/" service more))

(defn- read-pool
  "A pool and its revision, the latest ones: without `no-cache` a controller that has lost ZooKeeper, or its
  leadership, may answer with what was true before (docs/control-plane.md). Else `:error`."
  [{:keys [http base seconds state]} service]
  (let [options (client/authorized state {:headers {"Cache-Control" "no-cache"}})
        {:keys [status etag body] :as answer} (client/request! http seconds :get (url base service "/backends") options)]
    (if (= 200 status)
      {:revision (client/revision etag), :version etag, :weights (into {} (map (juxt :id :weight)) body)}
      {:error (client/sentence answer)})))

(defn- saw!
  "Remembers a service's latest version that this client has seen."
  [seen service version]
  (swap! seen assoc service {:version version, :revision (client/revision version)}))

(defn- last-seen
  "The latest `{:version :revision}` of a service that this client has seen; asks for it the first time."
  [{:keys [http base seconds seen state]} service]
  (or (get @seen service)
      (let [options (client/authorized state {})
            {:keys [status etag] :as answer} (client/request! http seconds :get (url base service) options)]
        (when (= 200 status)
          (get (saw! seen service etag) service)))))

(defn- request
  "The request of a write: `[method url options]`."
  [{:keys [base addresses]} version {:keys [f value]}]
  (let [[service {:keys [backend weight] :as payload}] value
        pool-url  #(url base service "/backends/" backend)
        member    (fn [id weight] {:id id, :address (addresses (dec id)), :weight weight})]
    (case f
      :add         [:put (pool-url) {:body (dissoc (member backend weight) :id)}]
      :weight      [:patch (pool-url) {:body {:weight weight}}]
      :remove      [:delete (pool-url) {}]
      :conditional [:patch (pool-url) {:body    {:weight weight}
                                       :headers {"If-Match" (str \" (client/version version (:if payload)) \")}}]
      :apply       [:put (url base service) {:body (assoc (spec service) :pool (for [[id weight] payload]
                                                                                (member id weight)))}])))

(defn- write!
  [{:keys [http seconds seen state] :as this} {:keys [version revision]} {:keys [f value] :as op}]
  (let [[service payload]   value
        op                  (cond-> op
                              (= :conditional f) (assoc :value [service (assoc payload :if revision)]))
        [method to options] (request this version op)
        options             (client/authorized state options)]
    (with-errors op #{}
      (let [{:keys [status body] :as answer} (client/request! http seconds method (str to "?force=true") options)]
        (if (#{200 201} status)
          (do (saw! seen service (client/version version (:generation body)))
              (assoc op :type :ok :revision (:generation body)))
          (assoc op :type (client/outcome answer) :error (client/sentence answer)))))))

(defn- read!
  [{:keys [seen] :as this} {[service] :value :as op}]
  (with-errors op #{:read}
    (let [{:keys [error version] :as pool} (read-pool this service)]
      (if error
        (assoc op :type :fail :error error)
        (do (saw! seen service version)
            (assoc op :type :ok :value [service (select-keys pool [:revision :weights])]))))))

(defrecord Client [http state base addresses seconds seen]
  jepsen.client/Client
  (open! [this test node]
    (let [state       (:state test)
          controllers (vec (cluster/with-role state :controller))
          n           (mod (.indexOf ^java.util.List (vec (:nodes test)) node) (count controllers))]
      (assoc this
             :http      (client/http)
             :state     state
             :base      (:rest (controllers n))
             :addresses (mapv :address (cluster/with-role state :server))
             :seconds   (get-in test [:scenarios :workloads :config :timeout-seconds] 10)
             :seen      (atom {}))))

  (setup! [_ _])

  (invoke! [this _ {[service] :value :as op}]
    (if (= :read (:f op))
      (read! this op)
      ; Nothing was sent yet where the version cannot be had.
      (let [seen (with-errors op (constantly true) (last-seen this service))]
        (if (:version seen)
          (write! this seen op)
          (assoc op :type :fail :error (:error seen :no-version))))))

  (teardown! [_ _])

  (close! [_ _])

  jepsen.client/Reusable
  (reusable? [_ _] true))

(defn create!
  "Creates the workload's services, which begin at generation 1 without backends."
  [test]
  (let [http (client/http)
        base (:rest (first (cluster/with-role (:state test) :leader)))]
    (doseq [service (services test)]
      (let [answer (client/request! http 30 :put (url base service)
                                    (client/authorized (:state test)
                                                       {:body (spec service), :headers {"If-None-Match" "*"}}))]
        (when-not (= 201 (:status answer))
          (throw (ex-info (str "service " service " cannot be created: " (client/sentence answer)
                               "; each run takes a cluster of its own: nodes down, nodes up") {})))))))

(defn- operation
  "An operation of a service, drawn."
  [service backends]
  (let [backend (inc (rand/long backends))
        weight  (rand/nth [0 20 50 100])
        op      (fn [f payload] {:f f, :value [service payload]})]
    (rand/weighted-branch
      0.25 (op :read nil)
      0.25 (op :add {:backend backend, :weight weight})
      0.2  (op :weight {:backend backend, :weight weight})
      0.1  (op :remove {:backend backend})
      0.1  (op :apply (into {} (for [id (rand/nonempty-subset (range 1 (inc backends)))]
                                 [id (rand/nth [20 50 100])])))
      0.1  (op :conditional {:backend backend, :weight weight}))))

(defn workload
  "Client, generators and checkers; `:threads` is how many processes it takes."
  [{:keys [scenarios] :as opts}]
  (let [{:keys [backends writers rate] at-a-time :services} (get-in scenarios [:workloads :config])
        names (services opts)]
    {:threads   writers
     :client    (Client. nil nil nil nil nil nil)
     :prepare!  create!
     :generator (->> (gen/mix (for [lane (range at-a-time)]
                                (for [service (take-nth at-a-time (drop lane names))]
                                  (gen/limit operations-per-service (fn [] (operation service backends))))))
                     (gen/stagger (/ rate)))
     :final-generator (for [service names]
                        (gen/until-ok (gen/delay 1 (gen/repeat {:f :read, :value [service nil], :final true}))))
     :checker   (checker/checkers :config opts)}))
