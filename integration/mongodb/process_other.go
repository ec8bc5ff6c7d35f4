//go:build !linux && !darwin

package mongodb

import (
	"errors"
	"os"
	"os/exec"
)

func setApart(*exec.Cmd) {}

func pause(*os.Process) error  { return errors.ErrUnsupported }
func resume(*os.Process) error { return errors.ErrUnsupported }

func free(string) uint64 { return 0 }
