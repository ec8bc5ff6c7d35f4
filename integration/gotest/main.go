// Command gotest runs go test, prints what go test prints without -v, and then one line
// for each reason why tests were skipped, and one for each of the slowest tests, which go
// test shows only with -v. It imports the standard library alone. Begin with report.
//
// The arguments are those of go test, and so is the exit status.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	err := run(os.Args[1:])
	var failed *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &failed) && failed.ExitCode() > 0:
		os.Exit(failed.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	command := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = report(events, os.Stdout)
	if err != nil {
		// go test must not block on a pipe that nobody reads.
		_, _ = io.Copy(io.Discard, events)
	}
	return errors.Join(command.Wait(), err)
}
