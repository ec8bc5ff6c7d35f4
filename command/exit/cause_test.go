package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCauses: what the system says of files and connections is told in the words of this
// program, and the error remains the same for errors.Is.
func TestCauses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(path string) error {
		_, err := os.ReadFile(path)
		return err
	}
	get := func(url string, timeout time.Duration) error {
		client := http.Client{Timeout: timeout}
		response, err := client.Get(url)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	other := errors.New("something else")
	for want, err := range map[string]error{
		"there is no " + plain + "x":                read(plain + "x"),
		dir + " is a folder":                        read(dir),
		"a part of " + plain + "/x is not a folder": read(plain + "/x"),
		"the permissions of x do not allow it":      &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission},
		"nothing listens at 127.0.0.1:1":            get("http://127.0.0.1:1/", 0),
		"it took too long":                          get("http://"+silent.Addr().String(), time.Millisecond),
		"there is no host nowhere.invalid":          &net.DNSError{Name: "nowhere.invalid", IsNotFound: true},
		"unsupported protocol scheme \"gopher\"":    get("gopher://x/", 0),
		"something else":                            other,
	} {
		told := Cause(err)
		if told.Error() != want || !errors.Is(told, err) {
			t.Errorf("%q is told as %q, not %q", err, told, want)
		}
		if wrapped := Cause(fmt.Errorf("the file: %w", err)); err != other && !strings.HasPrefix(wrapped.Error(), want) {
			t.Errorf("wrapped, %q is told as %q", err, wrapped)
		}
	}
}

// explained is an error that can explain itself.
type explained struct{ cause error }

func (e explained) Error() string { return "the store failed: " + e.cause.Error() }

func (e explained) Unwrap() error { return e.cause }

func (explained) Explained() string { return "the store failed" }

// TestText: the texts of causes that an error leaves out are left out wherever it is wrapped.
func TestText(t *testing.T) {
	own := explained{errors.New("sqlite3: disk I/O error")}
	for want, err := range map[string]error{
		"the store failed": own,
		"nothing was copied: the store failed: try again": fmt.Errorf("nothing was copied: %w: try again", fmt.Errorf("%w", own)),
		"one\nthe store failed":                           errors.Join(errors.New("one"), own),
		"a: the store failed, b: another":                 fmt.Errorf("a: %w, b: %w", own, errors.New("another")),
		"--store: the store failed":                       Usagef("--store: %w", own),
		"plain":                                           errors.New("plain"),
	} {
		if got := Text(err); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
