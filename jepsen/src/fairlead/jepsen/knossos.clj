; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.knossos
  "Knossos as the search for an order that `checker.config/linearizable` needs: the competition
  of its two algorithms. What neither decides in time is unknown."
  (:require [fairlead.jepsen.model :as model]
            [knossos [competition :as competition]
                     [model :as knossos]])
  (:import (knossos.model Model)))

(defrecord Searched [pool]
  Model
  (step [_ op]
    (let [next (model/step pool op)]
      (if (string? next)
        (knossos/inconsistent next)
        (Searched. next)))))

(defn search
  "`{:valid? true|false|:unknown, :op what no order explains}` of a history of one service that begins as `pool`."
  [pool history milliseconds]
  (competition/analysis (Searched. pool) history {:time-limit milliseconds}))
