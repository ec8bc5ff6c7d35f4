package driverbench

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"
)

type ncrucesConn struct{ c *sqlite3.Conn }

func openNcruces(path string) (conn, error) {
	c, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	err = c.CreateFunction("upperascii", 1, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS,
		func(ctx sqlite3.Context, arg ...sqlite3.Value) {
			ctx.ResultRawText(upperASCII(arg[0].RawText()))
		})
	if err != nil {
		c.Close()
		return nil, err
	}
	return ncrucesConn{c}, nil
}

func codeNcruces(err error) int {
	var code sqlite3.ExtendedErrorCode
	if errors.As(err, &code) {
		return int(code)
	}
	return 0
}

func (c ncrucesConn) SetContext(ctx context.Context) { c.c.SetInterrupt(ctx) }
func (c ncrucesConn) Exec(script string) error       { return c.c.Exec(script) }

// Close finalizes the statements first, or the driver reports BUSY.
func (c ncrucesConn) Close() error {
	var open []*sqlite3.Stmt
	for s := range c.c.Stmts() {
		open = append(open, s)
	}
	for _, s := range open {
		s.Close()
	}
	return c.c.Close()
}

func (c ncrucesConn) Prepare(query string) (stmt, error) {
	s, _, err := c.c.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
	return &ncrucesStmt{s: s}, err
}

type ncrucesStmt struct {
	s   *sqlite3.Stmt
	err error
}

func (s *ncrucesStmt) bound(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *ncrucesStmt) BindInt(i int, v int64)     { s.bound(s.s.BindInt64(i, v)) }
func (s *ncrucesStmt) BindString(i int, v string) { s.bound(s.s.BindText(i, v)) }
func (s *ncrucesStmt) BindText(i int, v []byte)   { s.bound(s.s.BindRawText(i, v)) }
func (s *ncrucesStmt) Int(col int) int64          { return s.s.ColumnInt64(col) }
func (s *ncrucesStmt) Text(col int) []byte        { return s.s.ColumnRawText(col) }
func (s *ncrucesStmt) Reset() error               { return s.s.Reset() }
func (s *ncrucesStmt) Close() error               { return s.s.Close() }

func (s *ncrucesStmt) Exec() error {
	if s.err != nil {
		return s.err
	}
	return s.s.Exec()
}

func (s *ncrucesStmt) Step() (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	row := s.s.Step()
	return row, s.s.Err()
}
