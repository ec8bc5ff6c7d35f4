// Package driverbench compares SQLite drivers that need no C compiler on the
// workload of the Marquee store.
//
// Run all of it with
//
//	cd engine/store/sqlite/driverbench && go test -bench . -benchmem
//
// or one driver with -bench '/ncruces'. The flags -rows, -pagesize and -dir
// set the size of the large table, the page size and the place of the
// database files.
package driverbench

import "context"

// A driver opens connections through one SQLite package.
type driver struct {
	name string
	open func(path string) (conn, error)
	// code returns the extended SQLite result code of an error, or 0.
	code func(error) int
}

var drivers = []driver{
	{"zombiezen", openZombiezen, codeZombiezen},
	{"modernc", openModernc, codeModernc},
	{"ncruces", openNcruces, codeNcruces},
}

// A conn is one connection. It has a scalar function "upperascii".
type conn interface {
	// SetContext makes ctx end the statements run from now on.
	SetContext(ctx context.Context)
	// Exec runs a script without parameters.
	Exec(script string) error
	Prepare(query string) (stmt, error)
	Close() error
}

// A stmt is one prepared statement. Parameters count from 1, columns from 0.
type stmt interface {
	BindInt(i int, v int64)
	BindString(i int, v string)
	// BindText binds UTF-8 bytes as TEXT.
	BindText(i int, v []byte)
	// Exec runs the statement to its end and resets it.
	Exec() error
	Step() (bool, error)
	Int(col int) int64
	// Text returns bytes that are valid until the next Step or Reset.
	Text(col int) []byte
	Reset() error
	Close() error
}

// upperASCII is the body of the scalar function.
func upperASCII(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
