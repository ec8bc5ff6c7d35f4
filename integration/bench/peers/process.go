package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	installLimit = 20 * time.Minute
	startLimit   = 2 * time.Minute
	stopLimit    = 10 * time.Second
)

// process is one that this program has started, with all that it starts itself.
type process struct {
	command *exec.Cmd
	output  bytes.Buffer
	exited  chan struct{}
}

func startProcess(folder string, environment []string, arguments ...string) (*process, error) {
	p := &process{command: exec.Command(arguments[0], arguments[1:]...), exited: make(chan struct{})}
	p.command.Dir, p.command.Env = folder, append(os.Environ(), environment...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.WaitDelay = time.Second // for grandchildren that keep the pipe open
	setApart(p.command)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // how it ended is seen in its output
		close(p.exited)
	}()
	return p, nil
}

// stop asks the processes to end, and ends them if they do not.
func (p *process) stop() {
	end(p.command, false)
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
	}
	end(p.command, true)
	<-p.exited
}

// complaint is the end of what the process has written. It must have ended.
func (p *process) complaint() string {
	text := strings.TrimSpace(p.output.String())
	return text[max(0, len(text)-2000):]
}

// run runs a command to its end.
func run(ctx context.Context, folder string, environment []string, arguments ...string) error {
	p, err := startProcess(folder, environment, arguments...)
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
		if p.command.ProcessState.Success() {
			return nil
		}
		return fmt.Errorf("%s: %s\n%s", strings.Join(arguments, " "), p.command.ProcessState, p.complaint())
	case <-ctx.Done():
		p.stop()
		return fmt.Errorf("%s: %w", arguments[0], ctx.Err())
	}
}

// freeAddress is one of this machine that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// await asks until the answer is 200.
func (p *process) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended at once:\n%s", p.complaint())
		case <-ctx.Done():
			p.stop()
			return fmt.Errorf("%s was not ready in time:\n%s", url, p.complaint())
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// copyFolder copies the files of a peer beside what was installed there before.
func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}

// moduleRoot is the folder of Marquee's go.mod.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("run this in the repository")
		}
		folder = parent
	}
}
