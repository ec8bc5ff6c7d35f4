package mongo

import "sync"

// answerBytes is about how large an answer of MongoDB with records is. The driver
// holds answers whole, and they are up to 16 MiB where nothing limits them.
const answerBytes = 2 << 20

// mostRecords is the number of records in an answer at most.
const mostRecords = 1000

// answers knows how large the records of each collection are.
type answers struct {
	// sizes holds an int by the name of a collection: the mean of the records of
	// recent answers, or more.
	sizes sync.Map
}

// batch returns how many of n records an answer should have: all of them, if that
// does not make it large.
func (a *answers) batch(collection string, n int) int32 {
	most := mostRecords
	if size, known := a.sizes.Load(collection); known {
		most = max(1, min(most, answerBytes/max(1, size.(int))))
	}
	return int32(min(n+1, most)) // #nosec G115 -- most is the largest
}

// size returns how large a record of a collection is, if that is known.
func (a *answers) size(collection string) (bytes int, known bool) {
	size, known := a.sizes.Load(collection)
	if !known {
		return 0, false
	}
	return size.(int), true
}

// learn takes note of the records of answers. Large ones are forgotten slowly.
func (a *answers) learn(collection string, records, bytes int) {
	if records == 0 {
		return
	}
	size := bytes / records
	before, known := a.sizes.Load(collection)
	if known {
		size = max(size, before.(int)*7/8)
	}
	if !known || size != before.(int) {
		a.sizes.Store(collection, size)
	}
}
