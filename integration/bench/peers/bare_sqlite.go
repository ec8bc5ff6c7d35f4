package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"

	_ "github.com/ncruces/go-sqlite3/driver"
)

// bareSQLite has one connection that writes, which waits for the disk at each commit,
// and some that read.
type bareSQLite struct {
	reader, writer               *sql.DB
	one, folderName, page, count *sql.Stmt
}

func openBareSQLite(ctx context.Context, path string) (*bareSQLite, error) {
	source := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	writer, err := sql.Open("sqlite3", source+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if _, err := writer.ExecContext(ctx, `
		CREATE TABLE folders (id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
		CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT, code TEXT, amount INTEGER, note TEXT, folder TEXT) WITHOUT ROWID;
		CREATE INDEX items_folder_name ON items (folder, name)`); err != nil {
		return nil, err
	}
	reader, err := sql.Open("sqlite3", source)
	if err != nil {
		return nil, err
	}
	reader.SetMaxOpenConns(2 * runtime.NumCPU())
	reader.SetMaxIdleConns(2 * runtime.NumCPU())
	s := &bareSQLite{reader: reader, writer: writer}
	for text, statement := range map[string]**sql.Stmt{
		`SELECT id, name, code, amount, note, folder FROM items WHERE id = ?`:                                 &s.one,
		`SELECT name FROM folders WHERE id = ?`:                                                               &s.folderName,
		`SELECT id, name, code, amount, note, folder FROM items WHERE folder = ? ORDER BY name, id LIMIT 100`: &s.page,
		`SELECT count(*) FROM items WHERE folder = ?`:                                                         &s.count,
	} {
		if *statement, err = reader.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *bareSQLite) get(ctx context.Context, id string) (r record, err error) {
	if err := s.one.QueryRowContext(ctx, id).Scan(&r.ID, &r.Name, &r.Code, &r.Amount, &r.Note, &r.Folder); err != nil {
		return r, err
	}
	return r, s.folderName.QueryRowContext(ctx, r.Folder).Scan(&r.FolderName)
}

func (s *bareSQLite) list(ctx context.Context, folder string) (page []record, total int64, err error) {
	var name string
	if err := s.folderName.QueryRowContext(ctx, folder).Scan(&name); err != nil {
		return nil, 0, err
	}
	if err := s.count.QueryRowContext(ctx, folder).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := s.page.QueryContext(ctx, folder)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		r := record{FolderName: name}
		if err := rows.Scan(&r.ID, &r.Name, &r.Code, &r.Amount, &r.Note, &r.Folder); err != nil {
			return nil, 0, err
		}
		page = append(page, r)
	}
	return page, total, rows.Err()
}

func (s *bareSQLite) create(ctx context.Context, records []record) error {
	return s.insert(ctx, `INSERT INTO items (id, name, code, amount, note, folder) VALUES (?, ?, ?, ?, ?, ?)`, records,
		func(r *record) []any { return []any{r.ID, r.Name, r.Code, r.Amount, r.Note, r.Folder} })
}

func (s *bareSQLite) folders(ctx context.Context, records []record) error {
	return s.insert(ctx, `INSERT INTO folders (id, name) VALUES (?, ?)`, records, func(r *record) []any { return []any{r.ID, r.Name} })
}

// insert writes the records in one transaction.
func (s *bareSQLite) insert(ctx context.Context, statement string, records []record, values func(r *record) []any) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	prepared, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer prepared.Close()
	for i := range records {
		if _, err := prepared.ExecContext(ctx, values(&records[i])...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// sizeSQLite returns the number of bytes in the databases of a folder, whether their
// pages are still in the log or not.
func sizeSQLite(ctx context.Context, folder string) (total int64, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: file}).EscapedPath())
		if err != nil {
			return 0, err
		}
		var bytes int64
		err = db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&bytes)
		if err := errors.Join(err, db.Close()); err != nil {
			return 0, err
		}
		total += bytes
	}
	return total, nil
}
