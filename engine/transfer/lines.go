package transfer

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

// MaxLine is how long a line may be: an object of 1 MiB and what an envelope
// writes around it.
const MaxLine = 1<<20 + 64<<10

// line is one line of the input.
type line struct {
	place
	// text is nil when the line is too long.
	text []byte
	// start is where the pass stood before the line.
	start mark
}

// place says where a line stands, for a later pass to read it there.
type place struct {
	number int64
	// offset and length are in bytes, with the end of the line.
	offset, length int64
	// group is the same for lines that must be written together; 0 for others.
	group int64
}

// mark is how far the input of a pass was read.
type mark struct {
	// position is a number of bytes, line a number of lines.
	position, line int64
	// sum is the hash of the bytes before the place, in the first pass.
	sum [sha256.Size]byte
}

// input yields the lines of one pass; io.EOF is its end.
type input interface {
	next() (line, error)
	mark() mark
}

// fileInput reads the file itself, in the first pass.
type fileInput struct {
	r    *bufio.Reader
	hash hash.Hash
	at   mark
}

const readBuffer = 256 << 10

// newFileInput reads from a place on. What stands before it is read, too: it
// must be what it was.
func newFileInput(r io.Reader, from mark) (*fileInput, error) {
	in := &fileInput{hash: sha256.New(), at: from}
	read, err := io.CopyN(in.hash, r, from.position)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if read != from.position || from.position > 0 && [sha256.Size]byte(in.hash.Sum(nil)) != from.sum {
		return nil, errChanged
	}
	in.r = bufio.NewReaderSize(r, readBuffer)
	return in, nil
}

func (in *fileInput) mark() mark {
	m := in.at
	in.hash.Sum(m.sum[:0])
	return m
}

// next reads a line. One that is too long is skipped in pieces, so that it
// needs no memory.
func (in *fileInput) next() (line, error) {
	l := line{place: place{number: in.at.line + 1, offset: in.at.position}, start: in.mark()}
	for {
		part, err := in.r.ReadSlice('\n')
		in.hash.Write(part)
		l.length += int64(len(part))
		if l.length <= MaxLine+2 { // the end of the line does not count
			l.text = append(l.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && l.length == 0:
			return line{}, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, err
		}
		break
	}
	l.trim()
	in.at.position += l.length
	in.at.line++
	return l, nil
}

// trim takes off the end of the line; of the first one, also the byte order
// mark that some editors write.
func (l *line) trim() {
	if int64(len(l.text)) < l.length {
		l.text = nil
		return
	}
	if n := len(l.text); n > 0 && l.text[n-1] == '\n' {
		l.text = l.text[:n-1]
	}
	if n := len(l.text); n > 0 && l.text[n-1] == '\r' {
		l.text = l.text[:n-1]
	}
	if l.number == 1 && len(l.text) >= 3 && string(l.text[:3]) == "\ufeff" {
		l.text = l.text[3:]
	}
	if len(l.text) > MaxLine {
		l.text = nil
	}
}

// waitingSize is what a line takes in a list of waiting lines: its place. The
// text is not there, as it may hold secrets.
const waitingSize = 32

func appendWaiting(dst []byte, p place) []byte {
	for _, n := range [...]int64{p.number, p.offset, p.length, p.group} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// waitingInput reads the lines that had to wait in the pass before.
type waitingInput struct {
	list *bufio.Reader
	text io.ReaderAt
	at   mark
}

func newWaitingInput(list io.ReaderAt, count, from int64, text io.ReaderAt) *waitingInput {
	section := io.NewSectionReader(list, from, count*waitingSize-from)
	return &waitingInput{list: bufio.NewReader(section), text: text, at: mark{position: from}}
}

func (in *waitingInput) mark() mark { return in.at }

func (in *waitingInput) next() (line, error) {
	var entry [waitingSize]byte
	if _, err := io.ReadFull(in.list, entry[:]); err != nil {
		return line{}, err
	}
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(entry[i:])) }
	l := line{place: place{at(0), at(8), at(16), at(24)}, start: in.at}
	if l.length < 0 || l.length > MaxLine+2 {
		return line{}, errors.New("the list of waiting lines is damaged")
	}
	l.text = make([]byte, l.length)
	if _, err := in.text.ReadAt(l.text, l.offset); err != nil && !errors.Is(err, io.EOF) {
		return line{}, err
	}
	l.trim()
	in.at.position += waitingSize
	return l, nil
}

func sumText(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

func sumOf(text string) (sum [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(sum) {
		return sum, false
	}
	return [sha256.Size]byte(raw), true
}
