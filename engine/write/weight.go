package write

// Weight measures a JSON text to estimate the memory for decoding and writing it. It
// is an io.Writer that accepts the text in any parts. Text that is not JSON has a
// weight, too.
type Weight struct {
	// Bytes is the length of the text.
	Bytes int64
	// objects and arrays count non-empty ones, empties the empty ones. entries counts
	// members, and items after the first.
	objects, arrays, empties, entries int64

	quoted, escaped bool
	last            byte
}

// Write measures a part of the text.
func (w *Weight) Write(p []byte) (int, error) {
	w.Bytes += int64(len(p))
	for _, c := range p {
		if w.quoted {
			switch {
			case w.escaped:
				w.escaped = false
			case c == '\\':
				w.escaped = true
			case c == '"':
				w.quoted = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			w.quoted = true
		case '{':
			w.objects++
		case '[':
			w.arrays++
		case ',', ':':
			w.entries++
		case '}':
			if w.last == '{' {
				w.objects--
				w.empties++
			}
		case ']':
			if w.last == '[' {
				w.arrays--
				w.empties++
			}
		}
		w.last = c
	}
	return len(p), nil
}

// The memory that writing takes, in bytes; TestCallsCostNoMoreThanTheirShare measures
// that it suffices. A text is in memory as sent, decoded, encoded, stored, in the
// history and in the answer; a single object, which can be large, also as parsed.
const (
	perCall      = 512 << 10
	perOperation = 8 << 10
	perByte      = 11
	perByteOfOne = 25
	perObject    = 100
	perArray     = 80
	perEmpty     = 48
	perEntry     = 500
)

// Cost returns the bytes of memory for writing the objects of the text and answering
// with them.
func (w *Weight) Cost() int64 {
	return perCall + perOperation*min(w.objects+w.empties, maxOperations) +
		max(perByte*w.Bytes, perByteOfOne*min(w.Bytes, MaxDocumentBytes)) +
		perObject*w.objects + perArray*w.arrays + perEmpty*w.empties + perEntry*w.entries
}

// scaled returns the weight of a text that is times/of times as long.
func (w *Weight) scaled(times, of int64) *Weight {
	return &Weight{Bytes: w.Bytes * times / of, objects: w.objects * times / of, arrays: w.arrays * times / of,
		empties: w.empties * times / of, entries: w.entries * times / of}
}

// maxOperations is the number of objects written at once.
const maxOperations = 1000
