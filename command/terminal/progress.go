package terminal

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

// Progress shows the progress of an import on standard error: as a bar on a
// terminal, as a line now and then elsewhere.
type Progress struct {
	out   io.Writer
	bar   bool
	quiet bool
	size  int64 // -1 when it is not known
	now   func() time.Time

	begun, shown time.Time
	first        transfer.Status
	drawn        bool
}

// NewProgress returns the progress of an import of a number of bytes, -1 if that is not known.
func NewProgress(quiet bool, size int64) *Progress {
	return &Progress{out: os.Stderr, bar: isatty.IsTerminal(os.Stderr.Fd()), quiet: quiet, size: size, now: time.Now}
}

// Begin sets the beginning, which another run may have reached.
func (p *Progress) Begin(s transfer.Status) { p.begun, p.shown, p.first = p.now(), p.now(), s }

// Update is called after every chunk.
func (p *Progress) Update(s transfer.Status) {
	every := lineEvery
	if p.bar {
		every = barEvery
	}
	if now := p.now(); !p.quiet && now.Sub(p.shown) >= every {
		p.shown = now
		p.draw(s)
	}
}

func (p *Progress) draw(s transfer.Status) {
	line := p.line(s)
	if !p.bar {
		fmt.Fprintln(p.out, line)
		return
	}
	if share, known := p.share(s); known {
		full := int(share * barWidth)
		line = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + line
	}
	fmt.Fprint(p.out, "\r"+line+"\x1b[K")
	p.drawn = true
}

// share is the part of the file that was read.
func (p *Progress) share(s transfer.Status) (share float64, known bool) {
	if p.size <= 0 {
		return 0, false
	}
	return min(1, float64(s.Bytes)/float64(p.size)), true
}

func (p *Progress) line(s transfer.Status) string {
	took := p.now().Sub(p.begun)
	parts := []string{progress.Counted(s.Objects, "object"), p.rate(s, took)}
	if s.Rejected > 0 {
		parts = append(parts, progress.Grouped(s.Rejected)+" rejected")
	}
	share, known := p.share(s)
	switch {
	case s.Retrying:
		parts = append(parts, progress.Counted(s.Waiting, "line")+" tried again")
	case known:
		parts = append(parts, fmt.Sprintf("%.0f%%", share*100))
		if read := s.Bytes - p.first.Bytes; read > 0 {
			left := time.Duration(float64(took) * float64(p.size-s.Bytes) / float64(read))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	}
	return strings.Join(parts, ", ")
}

func (p *Progress) rate(s transfer.Status, took time.Duration) string {
	seconds := max(took.Seconds(), 0.001)
	return progress.Grouped(int64(float64(s.Objects-p.first.Objects)/seconds)) + "/s"
}

// End removes the bar and sums up.
func (p *Progress) End(s transfer.Status) {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	took := p.now().Sub(p.begun)
	unchanged := s.Objects - s.Created - s.Changed
	p.Say("%s: %s new, %s changed, %s unchanged; %s rejected (%s, %s)", progress.Counted(s.Objects, "object"), progress.Grouped(s.Created), progress.Grouped(s.Changed),
		progress.Grouped(unchanged), progress.Grouped(s.Rejected), took.Round(10*time.Millisecond), p.rate(s, took))
}

// Say prints a line.
func (p *Progress) Say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintln(p.out, Printable(fmt.Sprintf(format, args...)))
	}
}

// Printable keeps what an imported file holds from controlling a terminal.
var Printable = transfer.Printable
