package asset

import "marquee/engine/generations"

// knownDeliveries remembers deliveries, which must not be changed, by their names, so that the
// record of a bundle, which lists all files, is not read again for each of them.
type knownDeliveries = generations.Map[string, *delivery]

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
