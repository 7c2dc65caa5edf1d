; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.image
  "Rings as ZooKeeper holds them: a naive reader of deltas and snapshots, and the sum of a ring
  (protocol/README.md §5, jepsen/README.md). It is the oracle that muxes are compared with, so it
  looks at each bucket by itself and shares no code with them.

  A ring is `{:service :generation :current :previous :since :backends}`: three arrays with an
  entry for each bucket, and the backends by id, `{:removed? :weight :address}`."
  (:import (com.github.luben.zstd Zstd)
           (java.nio ByteBuffer ByteOrder)
           (java.util Arrays)
           (java.util.zip CRC32C)))

(def header-bytes 32)

(defn- little
  ^ByteBuffer [^bytes bytes]
  (.order (ByteBuffer/wrap bytes) ByteOrder/LITTLE_ENDIAN))

(defn- u16 [^ByteBuffer b] (bit-and 0xffff (.getShort b)))
(defn- u32 [^ByteBuffer b] (bit-and 0xffffffff (.getInt b)))

(defn- refuse
  [reason & words]
  (throw (ex-info (str reason ": " (apply str words)) {:type ::refused, :reason reason})))

(defn- unframe
  "The body of a delta or snapshot, and its header: `[header buffer]`."
  [^bytes bytes magic]
  (when (< (alength bytes) header-bytes)
    (refuse "truncated" (alength bytes) " bytes"))
  (when-not (= magic (String. bytes 0 4 "US-ASCII"))
    (refuse "magic" "not " magic))
  (let [b      (little bytes)
        _      (.position b 4)
        header {:service (u32 b) :generation (u32 b) :base (u32 b) :buckets (u32 b)}
        length (.getLong b)
        sum    (u32 b)
        body   (byte-array length)
        result (Zstd/decompressByteArray body 0 (alength body) bytes header-bytes (- (alength bytes) header-bytes))]
    (when (or (Zstd/isError result) (not= result length))
      (refuse "compression" "a body of " length " bytes"))
    (let [crc (doto (CRC32C.) (.update bytes 0 28) (.update body 0 (alength body)))]
      (when-not (= sum (.getValue crc))
        (refuse "checksum" (format "%08x, computed %08x" sum (.getValue crc)))))
    [header (little body)]))

(defn- read-backends
  [^ByteBuffer b]
  (into (sorted-map)
        (vec (for [_ (range (u32 b))]
               (let [id (u16 b), flags (u16 b), weight (u16 b), address (byte-array 16)]
                 (.get b address)
                 [id {:removed? (odd? flags), :weight weight, :address address}])))))

(defn snapshot
  "The ring in a snapshot's bytes."
  [bytes]
  (let [[{:keys [service generation buckets]} ^ByteBuffer b] (unframe bytes "FLS2")
        _        (u32 b)
        backends (read-backends b)]
    {:service  service, :generation generation, :backends backends
     :current  (int-array (repeatedly buckets #(u16 b)))
     :previous (int-array (repeatedly buckets #(u16 b)))
     :since    (long-array (repeatedly buckets #(u32 b)))}))

(defn- runs
  "A delta's runs, each `{:skip :count :current :previous :owner}`, owner nil by number."
  [^ByteBuffer b]
  (let [n        (u32 b)
        order    (u32 b)
        skip     (vec (repeatedly n #(u32 b)))
        counts   (vec (repeatedly n #(u32 b)))
        current  (vec (repeatedly n #(u16 b)))
        previous (vec (repeatedly n #(u16 b)))
        owner    (case (long order)
                   0 (repeat n nil)
                   1 (vec (repeatedly n #(u16 b)))
                   (refuse "run" "order " order "; allowed: 0, 1"))]
    (mapv (fn [s c cur prev o] {:skip s, :count c, :current cur, :previous prev, :owner o})
          skip counts current previous owner)))

(defn- taken
  "Each run with the buckets that it takes: of the ring, or of what its owner has in the base."
  [^ints base runs]
  (mapcat (fn [of-owner]
            (let [owner   (:owner (first of-owner))
                  buckets (vec (if owner
                                 (filter #(= owner (aget base %)) (range (alength base)))
                                 (range (alength base))))]
              (loop [at 0, [run & more] of-owner, out []]
                (if (nil? run)
                  out
                  (let [from (+ at (:skip run)), to (+ from (:count run))]
                    (when (< (count buckets) to)
                      (refuse "run" "up to " to " of " (count buckets) " buckets"))
                    (recur to more (conj out (assoc run :buckets (subvec buckets from to)))))))))
          (partition-by :owner runs)))

(defn delta
  "The ring that a delta's bytes lead to from `ring`."
  [ring bytes]
  (let [[{:keys [service generation base]} ^ByteBuffer b] (unframe bytes "FLD2")
        _ (when-not (= [service generation base]
                       [(:service ring) (inc (:generation ring)) (:generation ring)])
            (refuse "generation" generation " of service " service " from " base ", the ring is " (:generation ring)))
        committed (u32 b)
        backends  (read-backends b)
        runs      (runs b)
        ^ints current   (Arrays/copyOf ^ints (:current ring) (alength ^ints (:current ring)))
        ^ints previous  (Arrays/copyOf ^ints (:previous ring) (alength ^ints (:previous ring)))
        ^longs since    (Arrays/copyOf ^longs (:since ring) (alength ^longs (:since ring)))]
    (doseq [run (taken (:current ring) runs), bucket (:buckets run)]
      (aset current (int bucket) (int (:current run)))
      (aset previous (int bucket) (int (:previous run)))
      (aset since (int bucket) (long committed)))
    {:service service, :generation generation, :backends (merge (:backends ring) backends)
     :current current, :previous previous, :since since}))

(defn listed
  "The backends that a snapshot of the ring lists, by id: all that are not removed, and those
  removed that a bucket names as its previous one."
  [{:keys [backends previous]}]
  (let [named (set previous)]
    (into (sorted-map) (remove (fn [[id {:keys [removed?]}]] (and removed? (not (named id))))) backends)))

(defn sum
  "CRC-32C of all buckets and listed backends, 8 hex digits."
  [{:keys [^ints current ^ints previous ^longs since] :as ring}]
  (let [backends (listed ring)
        b (.order (ByteBuffer/allocate (+ (* 8 (alength current)) (* 20 (count backends)))) ByteOrder/LITTLE_ENDIAN)]
    (dotimes [i (alength current)]
      (.putShort b (unchecked-short (aget current i)))
      (.putShort b (unchecked-short (aget previous i)))
      (.putInt b (unchecked-int (aget since i))))
    (doseq [[id {:keys [removed? address]}] backends]
      (.putShort b (unchecked-short id))
      (.putShort b (short (if removed? 1 0)))
      (.put b ^bytes address))
    (format "%08x" (.getValue (doto (CRC32C.) (.update (.array b)))))))
