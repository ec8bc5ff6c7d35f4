package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"marquee/engine/progress"
	"marquee/engine/transfer"
)

const (
	// barEvery and lineEvery are how often the display changes: on a terminal,
	// and elsewhere.
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 20
)

// display shows the progress of an import on standard error: as a bar on a
// terminal, as a line now and then elsewhere.
type display struct {
	out   io.Writer
	bar   bool
	quiet bool
	size  int64 // -1 when it is not known
	now   func() time.Time

	begun, shown time.Time
	first        transfer.Status
	drawn        bool
}

func newDisplay(quiet bool, size int64) *display {
	return &display{out: os.Stderr, bar: isatty.IsTerminal(os.Stderr.Fd()), quiet: quiet, size: size, now: time.Now}
}

func (d *display) begin(s transfer.Status) { d.begun, d.shown, d.first = d.now(), d.now(), s }

// update is called after every chunk.
func (d *display) update(s transfer.Status) {
	every := lineEvery
	if d.bar {
		every = barEvery
	}
	if now := d.now(); !d.quiet && now.Sub(d.shown) >= every {
		d.shown = now
		d.draw(s)
	}
}

func (d *display) draw(s transfer.Status) {
	line := d.line(s)
	if !d.bar {
		fmt.Fprintln(d.out, line)
		return
	}
	if share, known := d.share(s); known {
		full := int(share * barWidth)
		line = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + line
	}
	fmt.Fprint(d.out, "\r"+line+"\x1b[K")
	d.drawn = true
}

// share is the part of the file that was read.
func (d *display) share(s transfer.Status) (share float64, known bool) {
	if d.size <= 0 {
		return 0, false
	}
	return min(1, float64(s.Bytes)/float64(d.size)), true
}

func (d *display) line(s transfer.Status) string {
	took := d.now().Sub(d.begun)
	parts := []string{counted(s.Objects, "object"), d.rate(s, took)}
	if s.Rejected > 0 {
		parts = append(parts, grouped(s.Rejected)+" rejected")
	}
	share, known := d.share(s)
	switch {
	case s.Retrying:
		parts = append(parts, counted(s.Waiting, "line")+" tried again")
	case known:
		parts = append(parts, fmt.Sprintf("%.0f%%", share*100))
		if read := s.Bytes - d.first.Bytes; read > 0 {
			left := time.Duration(float64(took) * float64(d.size-s.Bytes) / float64(read))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	}
	return strings.Join(parts, ", ")
}

func (d *display) rate(s transfer.Status, took time.Duration) string {
	seconds := max(took.Seconds(), 0.001)
	return grouped(int64(float64(s.Objects-d.first.Objects)/seconds)) + "/s"
}

// end removes the bar and sums up.
func (d *display) end(s transfer.Status) {
	if d.drawn {
		fmt.Fprint(d.out, "\r\x1b[K")
	}
	took := d.now().Sub(d.begun)
	unchanged := s.Objects - s.Created - s.Changed
	d.say("%s: %s new, %s changed, %s unchanged; %s rejected (%s, %s)", counted(s.Objects, "object"), grouped(s.Created), grouped(s.Changed),
		grouped(unchanged), grouped(s.Rejected), took.Round(10*time.Millisecond), d.rate(s, took))
}

// say prints a line.
func (d *display) say(format string, args ...any) {
	if !d.quiet {
		fmt.Fprintln(d.out, printable(fmt.Sprintf(format, args...)))
	}
}

// printable keeps what an imported file holds from controlling a terminal.
var printable = transfer.Printable

// counted and grouped write numbers.
var counted, grouped = progress.Counted, progress.Grouped
