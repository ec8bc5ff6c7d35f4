//go:build linux || darwin

package mongodb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ending says to a child process how it is to end.
const ending = "MARQUEE_TEST_ENDING"

func TestNothingIsLeftOfTestsThatDie(t *testing.T) {
	if _, err := Binary(); err != nil {
		check(t, err)
	}
	for _, how := range []string{"panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestDying$")
			child.Env = append(os.Environ(), ending+"="+how)
			output, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			var folder string
			var server int
			for lines := bufio.NewScanner(output); lines.Scan(); {
				if text, found := strings.CutPrefix(lines.Text(), ending+" "); found {
					fmt.Sscan(text, &folder, &server)
				}
			}
			if child.Wait() == nil || server == 0 {
				t.Fatalf("the child ended well, with server %d", server)
			}
			ctx, cancel := context.WithTimeout(t.Context(), startLimit)
			defer cancel()
			err = poll(ctx, func() error {
				if err := syscall.Kill(server, 0); err == nil && !defunct(server) {
					return fmt.Errorf("process %d is still there", server)
				}
				for _, name := range []string{folder, folder + ".gone"} {
					if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
						return fmt.Errorf("%s is still there", name)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// defunct is whether a process has ended and only waits for its parent to
// notice, which some containers' first process never does.
func defunct(process int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestDying is the child of the test above.
func TestDying(t *testing.T) {
	how := os.Getenv(ending)
	if how == "" {
		return // it is for a child process
	}
	own := NewReplicaSet(t, 1)
	own.Pause(0) // it would not notice a signal that asks
	fmt.Println(ending, own.folder, own.members[0].process.Pid)
	if how == "kill" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	}
	go panic("as asked")
	select {}
}
