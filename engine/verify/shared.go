package verify

import (
	"bufio"
	"bytes"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Temporary is a temporary file that is written once, and then read. Its creator bounds its
// size.
type Temporary interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

const (
	// maxSorted is the number of bytes that are sorted in memory, of which the file has one
	// run after another.
	maxSorted = 1 << 20
	// runBuffer is the memory that each run takes while all of them are merged.
	runBuffer = 4 << 10
)

// sorter sorts what objects would claim, so that those of equal values, and intervals in the
// order of their beginnings, follow each other. Whatever their number, it needs the memory of
// maxSorted bytes and a buffer for each run; the rest is in the file.
type sorter struct {
	file    Temporary
	entries []string
	size    int
	// ends are the offsets at which the runs in the file end.
	ends []int64
}

// claimed is what one object would claim.
type claimed struct {
	// rule is the index of the unique key, and digest that of the values, of which the text
	// is not needed.
	rule   uint16
	digest [16]byte
	keyword.Interval
	store.Key
}

// newClaimed returns what an object would claim with a value, that of an interval or another.
func newClaimed(rule int, claim store.Claim, exclusive bool, key store.Key) claimed {
	c := claimed{rule: uint16(rule), Key: key} // #nosec G115 -- a type has no 65,536 rules
	value := claim.Value
	if exclusive {
		c.Interval = keyword.IntervalOf(value)
		value, c.Of = c.Of, ""
	}
	sum := sha256.Sum256([]byte(claim.Network + "\x00" + value))
	c.digest = [16]byte(sum[:16])
	return c
}

// group reports whether both have the same rule and the same values.
func (c claimed) group(other claimed) bool { return c.rule == other.rule && c.digest == other.digest }

func (c claimed) encode() string {
	b := binary.BigEndian.AppendUint16(nil, c.rule)
	b = append(b, c.digest[:]...)
	return string(b) + strings.Join([]string{c.From, c.To, c.Network, c.ID}, "\x00")
}

func decodeClaimed(text string) (c claimed) {
	c.rule = binary.BigEndian.Uint16([]byte(text))
	c.digest = [16]byte([]byte(text[2:18]))
	if parts := strings.SplitN(text[18:], "\x00", 4); len(parts) == 4 {
		c.From, c.To, c.Network, c.ID = parts[0], parts[1], parts[2], parts[3]
	}
	return c
}

func (s *sorter) add(c claimed) error {
	text := c.encode()
	s.entries = append(s.entries, text)
	if s.size += len(text); s.size < maxSorted {
		return nil
	}
	return s.flush()
}

// flush writes a run.
func (s *sorter) flush() error {
	slices.Sort(s.entries)
	var run bytes.Buffer
	for _, text := range s.entries {
		run.Write(binary.AppendUvarint(nil, uint64(len(text))))
		run.WriteString(text)
	}
	if _, err := s.file.Write(run.Bytes()); err != nil {
		return err
	}
	begin := int64(0)
	if n := len(s.ends); n > 0 {
		begin = s.ends[n-1]
	}
	s.ends = append(s.ends, begin+int64(run.Len()))
	s.entries, s.size = s.entries[:0], 0
	return nil
}

// each yields what was added, in order.
func (s *sorter) each(yield func(claimed) error) error {
	slices.Sort(s.entries)
	runs := merging{{left: s.entries}}
	begin := int64(0)
	for _, end := range s.ends {
		runs = append(runs, &run{file: bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), runBuffer)})
		begin = end
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if more, err := runs[i].advance(); err != nil {
			return err
		} else if !more {
			runs = slices.Delete(runs, i, i+1)
		}
	}
	heap.Init(&runs)
	for len(runs) > 0 {
		if err := yield(decodeClaimed(runs[0].text)); err != nil {
			return err
		}
		more, err := runs[0].advance()
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&runs, 0)
		default:
			heap.Pop(&runs)
		}
	}
	return nil
}

// run is a sorted sequence of texts, in memory or in a file.
type run struct {
	text string
	left []string
	file *bufio.Reader
}

// advance reads the next text, and reports whether there is one.
func (r *run) advance() (more bool, err error) {
	if r.file == nil {
		if len(r.left) == 0 {
			return false, nil
		}
		r.text, r.left = r.left[0], r.left[1:]
		return true, nil
	}
	n, err := binary.ReadUvarint(r.file)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r.file, text)
	r.text = string(text)
	return true, err
}

// merging is a heap of runs by their next texts.
type merging []*run

func (m merging) Len() int           { return len(m) }
func (m merging) Less(i, j int) bool { return m[i].text < m[j].text }
func (m merging) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merging) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *merging) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// clashes yields each claim that meets one before it, with that one.
func (s *sorter) clashes(exclusive func(rule int) bool, yield func(c, with claimed)) error {
	var reach claimed // of the group so far, the interval that ends last, or the first value
	begun := false
	return s.each(func(c claimed) error {
		switch {
		case !begun || !c.group(reach):
			reach, begun = c, true
		case !exclusive(int(c.rule)):
			yield(c, reach)
		default:
			if c.Meets(reach.Interval) {
				yield(c, reach)
			}
			if c.To > reach.To {
				reach = c
			}
		}
		return nil
	})
}
