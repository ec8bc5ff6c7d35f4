package exit

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// Cause is an error of a file or a connection in words of this program. Others are
// returned as they are.
func Cause(err error) error {
	text := ""
	var file *fs.PathError
	var host *net.DNSError
	var dialled *net.OpError
	var request *url.Error
	switch {
	case errors.As(err, &file):
		text = fileCause(file)
	case errors.As(err, &host) && host.IsNotFound:
		text = "there is no host " + host.Name
	case errors.As(err, &dialled) && errors.Is(err, syscall.ECONNREFUSED) && dialled.Addr != nil:
		text = "nothing listens at " + dialled.Addr.String()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &request) && request.Timeout():
		text = "it took too long"
	case errors.As(err, &request):
		return caused{request.Err.Error(), err}
	}
	if text == "" {
		return err
	}
	return caused{text, err}
}

// Text is the text of an error for people. Where an error can explain itself, it leaves out the
// texts of its causes, which only the log has.
func Text(err error) string {
	text, inner := err.Error(), []error(nil)
	switch e := err.(type) {
	case interface{ Explained() string }:
		return e.Explained()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	for _, cause := range inner {
		if cause != nil && cause.Error() != "" {
			text = strings.Replace(text, cause.Error(), Text(cause), 1)
		}
	}
	return text
}

func fileCause(file *fs.PathError) string {
	switch {
	case errors.Is(file, fs.ErrNotExist):
		return "there is no " + file.Path
	case errors.Is(file, fs.ErrPermission):
		return "the permissions of " + file.Path + " do not allow it"
	case errors.Is(file, syscall.EISDIR):
		return file.Path + " is a folder"
	case errors.Is(file, syscall.ENOTDIR):
		return "a part of " + file.Path + " is not a folder"
	case errors.Is(file, syscall.ENOSPC), errors.Is(file, syscall.EDQUOT):
		return "there is no room for " + file.Path
	case errors.Is(file, syscall.EROFS):
		return file.Path + " can only be read"
	}
	return ""
}

// caused is an error with a text of this program.
type caused struct {
	text  string
	cause error
}

func (c caused) Error() string { return c.text }

func (c caused) Unwrap() error { return c.cause }
