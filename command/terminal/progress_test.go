package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"marquee/engine/progress"
	"marquee/engine/transfer"
)

// shown is what a display prints for an import of 2,000 objects, half of which
// another run had written; the time passes by a second a chunk.
func shown(bar bool, size int64) string {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	d := &Progress{out: &out, bar: bar, size: size, now: func() time.Time { return now }}
	status := func(objects int64, again bool) transfer.Status {
		s := transfer.Status{Bytes: objects * 10, Lines: objects, Retrying: again}
		s.Objects = objects
		return s
	}
	d.Begin(status(1000, false))
	for i := range 10 {
		now = now.Add(time.Second)
		d.Update(status(1000+int64(i+1)*100, false))
	}
	now = now.Add(lineEvery)
	d.Update(status(2000, true))
	d.End(status(2000, true))
	d.Say("a %s", "text\x1b[2J\r\nof a file")
	return out.String()
}

func TestDisplayOnTerminal(t *testing.T) {
	text := shown(true, 20_000)
	for _, want := range []string{"\r[###############.....]", "1,500 objects, 100/s, 75%, 5s left\x1b[K", "100%, 0s left", "0 lines tried again", "\r\x1b[K2,000 objects: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if strings.Contains(text, "\x1b[2J") {
		t.Error("what a file holds controls the terminal")
	}
}

func TestDisplayElsewhere(t *testing.T) {
	for _, size := range []int64{20_000, -1} {
		text := shown(false, size)
		if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), unicode.IsControl) {
			t.Errorf("control characters: %q", text)
		}
		if n := strings.Count(text, "objects, 100/s"); n != 2 {
			t.Errorf("%d lines in ten seconds: %q", n, text)
		}
		if strings.Contains(text, "%") != (size > 0) {
			t.Errorf("of %d bytes: %q", size, text)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567"} {
		if got := progress.Grouped(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
