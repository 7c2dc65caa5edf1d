; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker.connections
  "Whether live connections survived the faults.

  ## What is assumed

  Clients close connections in order (`:closed`), or leave them open to the end
  (`:alive`); none is longer than the service's window or hold; each answer names its
  server. A connection without an answer for `:answer-seconds` of the workload is broken.

  ## Rules

  1. From the nemesis' log, how long each fault lasted: from when its start was asked
     for until its heal was done, or to the end if it was never healed. A start with
     `:error` begins none: the step was not done, or its fault has already begun.
  2. unbroken: each connection that ended by `:reset`, `:timeout` or `:refused` needs a
     fault with `:may-break :connections-of-node` that was active while the connection
     was open, on the server that answered it, or on any server if none had answered
     yet; and it got no answer after the heal, since then it survived that fault. The
     examples say which fault excused which connection. One with a `:limit` needs no fault:
     the run made connections meet limits of the protocol, and traced it to that one.
  3. sticky: no connection was answered by two servers.

  ## What can mislead

  A connection that dies of another cause during its server's fault is excused, too.
  One that is answered once, or never, cannot change its server."
  (:require [clojure.string :as str]
            [fairlead.jepsen.verdict :refer [judged unknown]]))

(def ends
  #{:closed :alive :reset :timeout :refused})

(defn- kind
  "Whether a nemesis' operation begins a fault (`:start`) or ends one (`:heal`).
  This suite calls them `:start-kill`, `:heal-kill`, so that Jepsen's plots show
  them apart; shared histories have `:start`, `:heal`."
  [{:keys [f]}]
  (let [word (first (str/split (name f) #"-" 2))]
    (#{:start :heal} (keyword word))))

(defn faults
  "All faults: `{:fault :node :may-break :from :to}`, `:to` nil if it was never healed.
  The log has each operation twice, when it begins and when it is done; the node is
  known when it is done. A fault lasts from the first `:start` to the last `:heal`."
  [ops]
  (let [same (fn [a] (fn [b] (and (= (:fault a) (:fault b)) (= (:node a) (:node b)))))
        step (fn [[all asked] {:keys [value time] :as op}]
               (let [at   (last (keep-indexed #(when ((same value) %2) %1) all))
                     open (get all at)]
                 (case (kind op)
                   ; Asked for; which node it is, if a role was named, is known when it is done.
                   :start (cond
                            (nil? (:node value))
                            [all (assoc asked (:fault value) time)]

                            (or (:error op) (and open (nil? (:healed open))))
                            [all asked]

                            :else
                            [(conj all (assoc value :from (get asked (:fault value) time) :to nil))
                             (dissoc asked (:fault value))])
                   :heal  [(cond-> all at (update at assoc :to time :healed true)) asked]
                   [all asked])))]
    (first (reduce step [[] {}] (filter #(and (= :nemesis (:process %)) (map? (:value %))) ops)))))

(defn connections
  "Those that ended."
  [ops]
  (for [op    ops
        :when (and (= :connection (:f op)) (not= :invoke (:type op)) (:end (:value op)))]
    (if (ends (:end (:value op)))
      (:value op)
      (throw (ex-info (str "operation " (:index op) ": end " (:end (:value op)) "; allowed: " (sort ends)) {:op op})))))

(defn broke?
  [{:keys [end]}]
  (contains? #{:reset :timeout :refused} end))

(defn excuses?
  [fault connection]
  (and (= :connections-of-node (:may-break fault))
       (<= (:from fault) (:to connection))
       (or (nil? (:to fault)) (and (<= (:from connection) (:to fault))
                                   (<= (:last-answer connection 0) (:to fault))))
       (or (empty? (:servers connection))
           (some #{(:node fault)} (:servers connection)))))

(defn- sentence
  [{:keys [id client kind from to requests servers end]}]
  (format "connection %s of %s (%s, %.3f s to %.3f s, answered %s times by %s) ended by %s"
          id client (name kind) (/ from 1e9) (/ to 1e9) requests (pr-str (vec servers)) (name end)))

(defn- unanswered
  [all]
  (when (not-any? (comp pos? :requests) all)
    (unknown :no-answer "none of " (count all) " connections was answered")))

(defn- unended
  "Unknown if the program that held a connection did not report its end: Jepsen then completes it as `:info`."
  [ops]
  (when-let [op (first (filter #(and (= :connection (:f %)) (= :info (:type %)) (nil? (:end (:value %)))) ops))]
    (unknown :unended "how the connection of operation " (:index op) " ended is unknown: " (:error op))))

(defn unbroken
  [ops _]
  (let [all     (connections ops)
        stood   (faults ops)
        broken  (for [each all :when (and (broke? each) (nil? (:limit each)))]
                  [each (first (filter #(excuses? % each) stood))])
        against (for [[each fault] broken :when (nil? fault)]
                  [:unexcused (str (sentence each) ", which no fault excuses")])
        excused (for [[each fault] broken :when fault]
                  (format "excused: %s, by %s of %s from %.3f s" (sentence each) (name (:fault fault)) (:node fault)
                          (/ (:from fault) 1e9)))]
    (or (unanswered all)
        (when (empty? against) (unended ops))
        (judged against
                (str (count all) " connections, " (count (filter #(= :idle (:kind %)) all)) " of them idle, none broken but " (count excused) " that faults excuse "
                     "and those that met a limit " (frequencies (keep :limit all)) " "
                     (frequencies (for [[_ fault] broken :when fault] (str (name (:fault fault)) " of " (:node fault)))))
                excused))))

(defn sticky
  [ops _]
  (let [all     (connections ops)
        against (for [each all :when (< 1 (count (set (:servers each))))] [:two-servers (sentence each)])]
    (or (unanswered all)
        (when (empty? against) (unended ops))
        (judged against (str (count all) " connections, each with one server")))))
