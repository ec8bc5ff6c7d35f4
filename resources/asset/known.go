package asset

import (
	"sync"

	"marquee/engine/generations"
)

// maxDeliveryBytes bounds the memory of the deliveries that are remembered. The largest
// ones, with 1,000 files and long paths, take some 400 KB.
const maxDeliveryBytes = 16 << 20

// weight is about how many bytes a delivery takes.
func (d *delivery) weight() int {
	sum := 500
	for _, f := range d.Files {
		sum += 150 + len(f.Path) + len(f.Type) + len(f.SHA256)
	}
	return sum
}

// knownDeliveries remembers deliveries by their names, so that the record of a bundle,
// which lists all files, is not read again for each of them.
type knownDeliveries struct {
	mu   sync.Mutex
	kept generations.Map[string, *delivery]
}

func newKnownDeliveries() *knownDeliveries {
	return &knownDeliveries{kept: generations.Map[string, *delivery]{Most: maxDeliveryBytes, Weigh: (*delivery).weight}}
}

// get returns a delivery, which must not be changed, or nil.
func (k *knownDeliveries) get(name string) *delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, _ := k.kept.Get(name)
	return d
}

// put remembers a delivery, unless it had ended when it was read.
func (k *knownDeliveries) put(name string, d *delivery) {
	if len(d.Files) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.Put(name, d)
}
