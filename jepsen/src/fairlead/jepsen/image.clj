; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.image
  "Rings as ZooKeeper holds them: a naive reader of deltas and snapshots, and the sum of a ring
  (protocol/README.md §5, jepsen/README.md). It is the oracle that muxes are compared with, so it
  looks at each bucket by itself and shares no code with them.

  A ring is `{:service :generation :buckets :backends}`: of each bucket its owner and the former
  ones with the second of their loss, newest first, `[owner [[former since] ...]]`, and the backends
  by id, `{:removed? :dead? :foreign? :weight :address}`."
  (:import (com.github.luben.zstd Zstd)
           (java.nio ByteBuffer ByteOrder)
           (java.util.zip CRC32C)))

(def header-bytes 32)
(def history-most 6)

(defn- little
  ^ByteBuffer [^bytes bytes]
  (.order (ByteBuffer/wrap bytes) ByteOrder/LITTLE_ENDIAN))

(defn- u16 [^ByteBuffer b] (bit-and 0xffff (.getShort b)))
(defn- u32 [^ByteBuffer b] (bit-and 0xffffffff (.getInt b)))
(defn- column [n read b] (vec (repeatedly n #(read b))))

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
                 [id {:removed? (odd? flags)
                      :dead?    (bit-test flags 1)
                      :foreign? (bit-test flags 2)
                      :weight   weight
                      :address  address}])))))

(defn- mix
  "The last steps of splitmix64."
  [x]
  (let [x (unchecked-multiply (long (bit-xor x (unsigned-bit-shift-right x 30))) -4658895280553007687)
        x (unchecked-multiply (long (bit-xor x (unsigned-bit-shift-right x 27))) -7723592293110705685)]
    (bit-xor x (unsigned-bit-shift-right x 31))))

(defn- sum-of
  "The sum of a ring as a long."
  [{:keys [buckets backends]}]
  (let [of-bucket  (fn [number [current former]]
                     (reduce (fn [h [owner since]] (mix (bit-xor h (bit-or (bit-shift-left since 16) owner))))
                             (mix (bit-or (bit-shift-left number 16) current))
                             former))
        of-backend (fn [[id {:keys [address foreign?]}]]
                     (let [b (little address), id (if foreign? (bit-set id 16) id)]
                       (mix (bit-xor (mix (bit-xor (mix id) (.getLong b))) (.getLong b)))))]
    (reduce (fn [^long all ^long h] (unchecked-add all h))
            0
            (concat (map-indexed of-bucket buckets) (map of-backend (remove (comp :removed? val) backends))))))

(defn sum
  "The sum that a mux reports of the ring, 16 hex digits."
  [ring]
  (format "%016x" (sum-of ring)))

(defn- check-sum
  [said ring]
  (when-not (= said (sum-of ring))
    (refuse "base" (format "%016x, computed %s" said (sum ring)))))

(defn- histories
  "All histories of a snapshot, the empty one first."
  [^ByteBuffer b]
  (let [n       (u32 b)
        entries (u32 b)
        counts  (column n #(bit-and 0xff (.get ^ByteBuffer %)) b)
        owners  (column entries u16 b)
        former  (map vector owners (column entries u32 b))]
    (when-not (= entries (reduce + counts))
      (refuse "run" entries " entries of histories"))
    (into [[]] (map (fn [from count] (vec (take count (drop from former)))) (reductions + 0 counts) counts))))

(defn snapshot
  "The ring in a snapshot's bytes."
  [bytes]
  (let [[{:keys [service generation buckets]} ^ByteBuffer b] (unframe bytes "FLS3")
        _        (u32 b) ; committed
        _        (u32 b) ; closed until
        said     (.getLong b)
        backends (read-backends b)
        current  (column buckets u16 b)
        former   (histories b)
        ring     {:service service, :generation generation, :backends backends
                  :buckets (mapv (fn [owner number] [owner (former number)]) current (column buckets u32 b))}]
    (check-sum said ring)
    ring))

(defn- moves
  "A delta's moves, each `{:skip :count :current :owner}`, owner nil by number."
  [^ByteBuffer b]
  (let [n       (u32 b)
        order   (u32 b)
        skip    (column n u32 b)
        counts  (column n u32 b)
        current (column n u16 b)
        owner   (case (long order)
                  0 (repeat n nil)
                  1 (column n u16 b)
                  (refuse "run" "order " order "; allowed: 0, 1"))]
    (mapv (fn [s c cur o] {:skip s, :count c, :current cur, :owner o}) skip counts current owner)))

(defn- releases
  "A delta's releases, each `{:skip :count :release}`; 0 is everybody."
  [^ByteBuffer b]
  (let [n (u32 b), skip (column n u32 b), counts (column n u32 b)]
    (mapv (fn [s c o] {:skip s, :count c, :release o}) skip counts (column n u16 b))))

(defn- taken
  "Each run with the buckets that it takes: of the ring, or of what its owner has in the base."
  [base runs]
  (mapcat (fn [of-owner]
            (let [owner   (:owner (first of-owner))
                  buckets (vec (if owner
                                 (filter #(= owner (first (base %))) (range (count base)))
                                 (range (count base))))]
              (loop [at 0, [run & more] of-owner, out []]
                (if (nil? run)
                  out
                  (let [from (+ at (:skip run)), to (+ from (:count run))]
                    (when (< (count buckets) to)
                      (refuse "run" "up to " to " of " (count buckets) " buckets"))
                    (recur to more (conj out (assoc run :buckets (subvec buckets from to)))))))))
          (partition-by :owner runs)))

(defn- without
  "The bucket without the former owners of which `goes?` holds."
  [goes? [current former]]
  [current (vec (remove goes? former))])

(defn- move
  [dead? committed to [current former :as bucket]]
  (if (= to current)
    bucket
    [to (into (if (or (zero? current) (dead? current)) [] [[current committed]])
              (remove #(= to (first %)) former))]))

(defn delta
  "The ring that a delta's bytes lead to from `ring`."
  [ring bytes]
  (let [[{:keys [service generation base]} ^ByteBuffer b] (unframe bytes "FLD3")
        _ (when-not (= [service generation base]
                       [(:service ring) (inc (:generation ring)) (:generation ring)])
            (refuse "generation" generation " of service " service " from " base ", the ring is " (:generation ring)))
        committed (u32 b)
        closed    (u32 b)
        said      (.getLong b)
        backends  (merge (:backends ring) (read-backends b))
        moves     (moves b)
        releases  (releases b)
        dead?     (fn [id] (get-in backends [id :dead?]))
        change    (fn [buckets runs f]
                    (reduce (fn [all [number run]] (update all number #(f run %)))
                            buckets
                            (for [run (taken (:buckets ring) runs), number (:buckets run)] [number run])))
        closes?   (fn [[_ since]] (and (pos? closed) (<= since closed)))
        goes?     (fn [{:keys [release]}] (fn [[owner _]] (or (zero? release) (= owner release))))
        buckets   (as-> (:buckets ring) all
                    (mapv #(without closes? %) all)
                    (change all releases #(without (goes? %1) %2))
                    (change all moves #(move dead? committed (:current %1) %2))
                    (mapv #(without (comp dead? first) %) all))]
    (check-sum said ring)
    (doseq [[current former] buckets]
      (when (or (dead? current) (< history-most (count former)))
        (refuse "run" "a bucket of " current " with " (count former) " former owners")))
    {:service service, :generation generation, :backends backends, :buckets buckets}))

(defn listed
  "The backends that a snapshot of the ring lists, by id: all that are not removed, and those
  removed that a history names."
  [{:keys [backends buckets]}]
  (let [named (into #{} (mapcat (fn [[_ former]] (map first former))) buckets)]
    (into (sorted-map) (remove (fn [[id {:keys [removed?]}]] (and removed? (not (named id))))) backends)))
