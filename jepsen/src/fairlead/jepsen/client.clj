; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.client
  "The controllers' REST API, and what an answer, or none, says about an operation."
  (:require [clojure.data.json :as json]
            [clojure.string :as str])
  (:import (java.io IOException)
           (java.net ConnectException URI)
           (java.net.http HttpClient HttpClient$Version HttpConnectTimeoutException HttpRequest
                          HttpRequest$BodyPublishers HttpResponse HttpResponse$BodyHandlers HttpTimeoutException)
           (java.time Duration)))

(def connect-seconds
  "How long a controller may take to accept a connection."
  2)

(defn http
  "One HTTP client for each Jepsen client, so that none waits for another's connection."
  ^HttpClient []
  (.. (HttpClient/newBuilder)
      (version HttpClient$Version/HTTP_1_1)
      (connectTimeout (Duration/ofSeconds connect-seconds))
      build))

(defn authorized
  "Options of a request with the token of the file that `nodes list` names."
  [{:keys [token]} options]
  (cond-> options
    token (assoc-in [:headers "Authorization"] (str "Bearer " (str/trim (slurp token))))))

(defn request!
  "One request, sent once. `{:status :etag :body}`, the body as data if it is JSON; throws what
  java.net.http throws where there is no answer within `seconds`."
  [^HttpClient http seconds method url {:keys [body headers]}]
  (let [publisher (if body
                    (HttpRequest$BodyPublishers/ofString (json/write-str body))
                    (HttpRequest$BodyPublishers/noBody))
        builder   (.. (HttpRequest/newBuilder (URI/create url))
                      (timeout (Duration/ofMillis (long (* 1000 seconds))))
                      (method (str/upper-case (name method)) publisher))]
    (doseq [[header value] (cond-> headers body (assoc "Content-Type" "application/json"))]
      (.header builder header value))
    (let [^HttpResponse response (.send http (.build builder) (HttpResponse$BodyHandlers/ofString))
          text (.body response)]
      {:status (.statusCode response)
       :etag   (some-> (.orElse (.firstValue (.headers response) "ETag") nil) (str/replace "\"" ""))
       :body   (if (re-find #"^\s*[\[{]" text) (json/read-str text :key-fn keyword) text)})))

(defn revision
  "The generation in a service's version, `ID-CONFIG-GENERATION`."
  [version]
  (parse-long (last (str/split version #"-"))))

(defn version
  "A service's version at another generation, given one of its versions."
  [version generation]
  (str/join "-" (conj (pop (str/split version #"-")) generation)))

(defn outcome
  "The outcome of a write whose answer is an error: `:fail` if nothing was written, else `:info`. Every
  4xx refuses the whole write; 503 says in `allowed` whether anything was written."
  [{:keys [status body]}]
  (cond
    (<= 400 status 499) :fail
    (and (= 503 status) (map? body) (str/includes? (str (:allowed body)) "nothing was written")) :fail
    :else :info))

(defn sentence
  "The error in an answer, as one line."
  [{:keys [status body]}]
  (str status " " (if (map? body) (str (:title body) " " (:field body) " " (:detail body)) body)))

(defmacro with-errors
  "Evaluates to the body's operation. An error becomes `:fail` if the operation certainly had no effect
  (a connection that was never made; any read, `(idempotent f)`), and `:info` if it may have had one."
  [op idempotent & body]
  `(let [op#    ~op
         maybe# (if (~idempotent (:f op#)) :fail :info)]
     (try
       ~@body
       (catch HttpConnectTimeoutException e#
         (assoc op# :type :fail :error [:not-connected (.getMessage e#)]))
       (catch ConnectException e#
         (assoc op# :type :fail :error [:not-connected (.getMessage e#)]))
       (catch HttpTimeoutException e#
         (assoc op# :type maybe# :error [:timeout (.getMessage e#)]))
       (catch IOException e#
         (assoc op# :type maybe# :error [:connection-lost (.getMessage e#)])))))
