package driverbench

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("upperascii", 1,
		func(_ *sqlite.FunctionContext, args []sqldriver.Value) (sqldriver.Value, error) {
			s, _ := args[0].(string)
			return string(upperASCII([]byte(s))), nil
		})
}

type moderncConn struct {
	db  *sql.DB
	c   *sql.Conn
	ctx context.Context
}

func openModernc(path string) (conn, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(context.Background())
	if err != nil {
		db.Close()
		return nil, err
	}
	return &moderncConn{db, c, context.Background()}, nil
}

func codeModernc(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

func (c *moderncConn) SetContext(ctx context.Context) { c.ctx = ctx }

func (c *moderncConn) Close() error {
	return errors.Join(c.c.Close(), c.db.Close())
}

func (c *moderncConn) Exec(script string) error {
	_, err := c.c.ExecContext(c.ctx, script)
	return err
}

func (c *moderncConn) Prepare(query string) (stmt, error) {
	s, err := c.c.PrepareContext(c.ctx, query)
	return &moderncStmt{c: c, s: s}, err
}

type moderncStmt struct {
	c    *moderncConn
	s    *sql.Stmt
	args []any
	rows *sql.Rows
	cols []sql.RawBytes
	dest []any
}

func (s *moderncStmt) bind(i int, v any) {
	for len(s.args) < i {
		s.args = append(s.args, nil)
	}
	s.args[i-1] = v
}

func (s *moderncStmt) BindInt(i int, v int64)     { s.bind(i, v) }
func (s *moderncStmt) BindString(i int, v string) { s.bind(i, v) }
func (s *moderncStmt) BindText(i int, v []byte)   { s.bind(i, string(v)) }

func (s *moderncStmt) Exec() error {
	_, err := s.s.ExecContext(s.c.ctx, s.args...)
	return err
}

func (s *moderncStmt) Step() (bool, error) {
	if s.rows == nil {
		rows, err := s.s.QueryContext(s.c.ctx, s.args...)
		if err != nil {
			return false, err
		}
		s.rows = rows
		if s.dest == nil {
			names, err := rows.Columns()
			if err != nil {
				return false, err
			}
			s.cols = make([]sql.RawBytes, len(names))
			for i := range s.cols {
				s.dest = append(s.dest, &s.cols[i])
			}
		}
	}
	if !s.rows.Next() {
		return false, s.rows.Err()
	}
	return true, s.rows.Scan(s.dest...)
}

func (s *moderncStmt) Int(col int) int64 {
	var n int64
	for _, c := range s.cols[col] {
		n = n*10 + int64(c-'0')
	}
	return n
}

func (s *moderncStmt) Text(col int) []byte { return s.cols[col] }

func (s *moderncStmt) Reset() error {
	if s.rows == nil {
		return nil
	}
	err := s.rows.Close()
	s.rows = nil
	return err
}

func (s *moderncStmt) Close() error { return errors.Join(s.Reset(), s.s.Close()) }
