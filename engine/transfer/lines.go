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

// MaxLine is the maximum length of a line: an object of 1 MiB and its envelope.
const MaxLine = 1<<20 + 64<<10

// line is one line of the input.
type line struct {
	place
	// text is nil if the line is too long.
	text []byte
	// start is the position of the pass before the line.
	start mark
}

// place is the position of a line, where a later pass can read it.
type place struct {
	number int64
	// offset and length are in bytes, and include the end of the line.
	offset, length int64
	// group is the same for lines that must be written together; 0 is no group.
	group int64
}

// mark is a position in the input of a pass.
type mark struct {
	// position counts bytes, line counts lines.
	position, line int64
	// sum is the hash of all bytes before the position, in the first pass.
	sum [sha256.Size]byte
}

// input reads the lines of one pass. Its end is io.EOF.
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

// newFileInput returns an input that begins at a position. It checks that the
// bytes before that have not changed.
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

// next reads a line. A line that is too long is skipped without buffering it.
func (in *fileInput) next() (line, error) {
	l := line{place: place{number: in.at.line + 1, offset: in.at.position}, start: in.mark()}
	for {
		part, err := in.r.ReadSlice('\n')
		in.hash.Write(part)
		l.length += int64(len(part))
		if l.length <= MaxLine+2 { // with the end of the line
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

// trim removes the end of the line, and a byte order mark from the first one.
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

// waitingSize is the size of an entry in a list of waiting lines. It is the place
// of the line without its text, which may contain secrets.
const waitingSize = 32

func appendWaiting(dst []byte, p place) []byte {
	for _, n := range [...]int64{p.number, p.offset, p.length, p.group} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n)) // #nosec G115 -- what next reads is what appendWaiting wrote
	}
	return dst
}

// waitingInput reads the lines that had to wait in the previous pass.
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
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(entry[i:])) } // #nosec G115 -- what next reads is what appendWaiting wrote
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
