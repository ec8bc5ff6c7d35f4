package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

const (
	codePermission   = sqlite3.PERM
	codeReadOnly     = sqlite3.READONLY
	codeInterrupt    = sqlite3.INTERRUPT
	codeIO           = sqlite3.IOERR
	codeCorrupt      = sqlite3.CORRUPT
	codeFull         = sqlite3.FULL
	codeCantOpen     = sqlite3.CANTOPEN
	codeConstraint   = sqlite3.CONSTRAINT
	codeNotADatabase = sqlite3.NOTADB
	codeBusy         = sqlite3.BUSY
	codeLocked       = sqlite3.LOCKED
	codeProtocol     = sqlite3.PROTOCOL // a lock was not free for about ten seconds
	codeNoMemory     = sqlite3.NOMEM
)

// primary returns the primary result code of an SQLite error, 0 for another
// error.
func primary(err error) sqlite3.ErrorCode {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	var code sqlite3.ErrorCode
	if errors.As(err, &code) {
		return code
	}
	var extended sqlite3.ExtendedErrorCode
	if errors.As(err, &extended) {
		return extended.Code()
	}
	return 0
}

// fault distinguishes a full disk from other failures of a write by asking the
// disk. The driver cannot: it looks for the errno in the error of
// os.File.WriteAt, which is an *fs.PathError.
func (c *conn) fault(err error) error {
	if err == nil || !errors.Is(err, sqlite3.IOERR_WRITE) && !errors.Is(err, sqlite3.IOERR_FSYNC) {
		return err
	}
	if isFull(probe(filepath.Dir(c.path), true)) { // whose error would name the probe
		return &store.Error{Code: store.CodeFull, Text: fullText, Cause: err}
	}
	return err
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// probe writes a small file into a folder, and syncs it if sync is set. Only
// network file systems need the sync: others reserve the space at once.
func probe(folder string, sync bool) error {
	f, err := os.CreateTemp(folder, ".marquee-probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	if sync {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

const fullText = "the disk is full: free space for the store"

// translate converts an error of SQLite into a *store.Error, and leaves others
// unchanged.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *store.Error
	if errors.As(err, &known) {
		return err
	}
	fail := func(code store.Code, text string) error { return &store.Error{Code: code, Text: text, Cause: err} }
	switch primary(err) {
	case 0:
		return err
	case codeInterrupt:
		if ctx.Err() != nil {
			return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed", Cause: ctx.Err()}
		}
	case codeBusy, codeLocked, codeProtocol:
		return fail(store.CodeBusy, "the store's file was locked for longer than a statement waits")
	case codeNoMemory:
		return fail(store.CodeBusy, "SQLite has too little memory")
	case codeFull:
		return fail(store.CodeFull, fullText)
	case codeConstraint:
		return fail(store.CodeConflict, "a record is not at its expected revision, or a unique value is taken")
	case codeIO, codeReadOnly, codeCantOpen, codePermission:
		return fail(store.CodeUnavailable, "the store's file cannot be read or written: check the disk and its permissions")
	case codeCorrupt, codeNotADatabase:
		return fail(store.CodeDamaged, "the store's file is corrupt: restore it from a backup")
	}
	return fail(store.CodeInternal, "SQLite failed")
}
