// Command gotest runs go test, prints what go test prints without -v, and then one line
// for each reason why tests were skipped, and one for each of the slowest tests, which go
// test shows only with -v. It imports the standard library alone. Begin with report.
//
// The arguments are those of go test, and so is the exit status. Unless they have -p and
// -parallel, one package more is tested at once than there are processors, and one test more
// of each, because most wait for disks and timers; under the race detector, which multiplies
// memory, as many as there are.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
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
	all := []string{"test", "-json", "-vet=off", "-ldflags=-w"} // make lint runs go vet; nobody debugs what is linked here
	if !slices.Contains(args, "-race") {
		more := runtime.GOMAXPROCS(0) + 1
		all = append(all, fmt.Sprintf("-p=%d", more), fmt.Sprintf("-parallel=%d", more)) // unless later ones take precedence
	}
	command := exec.Command("go", append(all, args...)...)
	command.Stderr = os.Stderr
	if os.Getenv("GOGC") == "" && !slices.Contains(args, "-race") {
		// Linking and tests take a tenth less time, and a quarter where much is loaded.
		command.Env = append(command.Environ(), "GOGC=400")
		if os.Getenv("GOMEMLIMIT") == "" {
			command.Env = append(command.Env, "GOMEMLIMIT=768MiB") // Beyond that, garbage is collected more often.
		}
	}
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
