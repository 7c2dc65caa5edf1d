module fairlead.dev/jepsen

go 1.23

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/klauspost/compress v1.17.11
	olympos.io/encoding/edn v0.0.0-20201019073823-d3554ca0b0a3
)

require github.com/go-zookeeper/zk v1.0.4
