package driverbench

import (
	"context"
	"slices"
	"strings"
	"unsafe"

	"zombiezen.com/go/sqlite"
)

type zombiezenConn struct{ c *sqlite.Conn }

func openZombiezen(path string) (conn, error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	err = c.CreateFunction("upperascii", &sqlite.FunctionImpl{
		NArgs:         1,
		Deterministic: true,
		Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			return sqlite.TextValue(string(upperASCII([]byte(args[0].Text())))), nil
		},
	})
	if err != nil {
		c.Close()
		return nil, err
	}
	return zombiezenConn{c}, nil
}

func codeZombiezen(err error) int { return int(sqlite.ErrCode(err)) }

func (c zombiezenConn) SetContext(ctx context.Context) { c.c.SetInterrupt(ctx.Done()) }
func (c zombiezenConn) Close() error                   { return c.c.Close() }

func (c zombiezenConn) Exec(script string) error {
	// The trailing space of a script would be an empty statement, a misuse.
	script = strings.TrimSpace(script)
	for script != "" {
		s, rest, err := c.c.PrepareTransient(script)
		if err != nil {
			return err
		}
		script = strings.TrimSpace(script[len(script)-rest:])
		for more := true; more && err == nil; {
			more, err = s.Step()
		}
		s.Finalize()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c zombiezenConn) Prepare(query string) (stmt, error) {
	s, err := c.c.Prepare(query)
	return &zombiezenStmt{s: s}, err
}

type zombiezenStmt struct {
	s   *sqlite.Stmt
	buf []byte
}

func (s *zombiezenStmt) BindInt(i int, v int64)     { s.s.BindInt64(i, v) }
func (s *zombiezenStmt) BindString(i int, v string) { s.s.BindText(i, v) }
func (s *zombiezenStmt) Step() (bool, error)        { return s.s.Step() }
func (s *zombiezenStmt) Int(col int) int64          { return s.s.ColumnInt64(col) }
func (s *zombiezenStmt) Reset() error               { return s.s.Reset() }
func (s *zombiezenStmt) Close() error               { return s.s.Finalize() }

// BindText views v as a string, as the driver copies it at once.
func (s *zombiezenStmt) BindText(i int, v []byte) {
	s.s.BindText(i, unsafe.String(unsafe.SliceData(v), len(v)))
}

func (s *zombiezenStmt) Exec() error {
	_, err := s.s.Step()
	if resetErr := s.s.Reset(); err == nil {
		err = resetErr
	}
	return err
}

func (s *zombiezenStmt) Text(col int) []byte {
	n := s.s.ColumnLen(col)
	s.buf = slices.Grow(s.buf[:0], n)[:n]
	s.s.ColumnBytes(col, s.buf)
	return s.buf
}
