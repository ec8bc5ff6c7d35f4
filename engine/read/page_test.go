package read

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// After an item that was left out, none is shown, however small.
func TestPageEndsWithWhatIsLeftOut(t *testing.T) {
	var w PageWriter
	w.Begin([]byte(`{"results":[`))
	for _, size := range []int{10, MaxPageBytes, 10} {
		err := w.Add(func(dst []byte) ([]byte, error) { return append(dst, strings.Repeat("1", size)...), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	page := w.End(nil)
	var body strings.Builder
	for _, part := range page.Body {
		body.Write(part)
	}
	if got := body.String(); got != `{"results":[1111111111],"truncated":true}` || !page.Truncated {
		t.Errorf("%.200s", got)
	}
}

// A page of similar items is written without copying it as it grows.
func TestPageIsNotCopiedAsItGrows(t *testing.T) {
	for size, want := range map[int]int{100: 2, 600: 2, 4 << 10: 3} { // 4 KiB: a second part
		var w PageWriter
		w.Begin([]byte(`{"results":[`))
		item, copies, last := bytes.Repeat([]byte("1"), size), 0, -1
		_, err := fill(&w, 100, source[int]{
			find: func(limit int, yield func(int) error) error {
				for i := range limit {
					if err := yield(i); err != nil {
						return err
					}
				}
				return nil
			},
			size: func(int) int { return size },
			keep: func(i int) int { return i },
			show: func(items []int) error {
				var errs error
				for range items {
					errs = errors.Join(errs, w.Add(func(dst []byte) ([]byte, error) {
						dst = append(dst, item...)
						if cap(dst) != last {
							copies, last = copies+1, cap(dst)
						}
						return dst, nil
					}))
				}
				return errs
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if copies > want {
			t.Errorf("a page of 100 items of %d bytes has %d buffers, want at most %d", size, copies, want)
		}
	}
}
