package mongodb

import (
	"io"
	"os/exec"
)

// guarding removes a folder and the servers that run in it as soon as its
// standard input ends, which happens even when the test process is killed.
// The folder is moved first, so that no server can enter itself after the look.
const guarding = `
trap '' HUP INT QUIT TERM
cat >/dev/null
mv "$0" "$0.gone"
for pid in $(cat "$0.gone"/*/pid 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$0.gone" 2>/dev/null && break; sleep 0.1; done
`

// removing does the same for the container of a name.
const removing = `
trap '' HUP INT QUIT TERM
cat >/dev/null
docker rm --force --volumes "$0"
`

// entering makes a server known to the guardian before it is one. A database
// has hundreds of files, which outlive it, and a test process may have begun with
// a limit of 1,024.
const entering = `echo $$ >"$0" && { ulimit -n "$(ulimit -H -n)" || :; } 2>/dev/null && exec "$@"`

// guardian waits until it is released or the test process ends, and cleans up.
type guardian struct {
	command *exec.Cmd
	leash   io.Closer
}

func guard(script, what string) (*guardian, error) {
	command := exec.Command("sh", "-c", script, what)
	leash, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	setApart(command)
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &guardian{command, leash}, nil
}

// release lets the guardian clean up, and waits for it.
func (g *guardian) release() error {
	g.leash.Close()
	return g.command.Wait()
}
