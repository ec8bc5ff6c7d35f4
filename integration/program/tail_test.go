package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestTail prints the changes of a service once and for all, although it is ended and begun again.
func TestTail(t *testing.T) {
	p := process.Serve(t, service.NewSQLite(t))
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK"}`)
	made, _ := p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/tail?context=main", `{"name": "Tail", "role": "reader"}`).JSON().(map[string]any)
	token, _ := made["token"].(string)
	env := []string{"MARQUEE_TOKEN=" + token}
	tokens := t.TempDir()
	process.File(t, filepath.Join(tokens, "right"), token+"\n")
	process.File(t, filepath.Join(tokens, "wrong"), "wrong")
	position := filepath.Join(t.TempDir(), "position")
	tail := func(more ...string) []string {
		return append([]string{"tail", "tiers", "--url", p.URL, "--context", "main", "--position", position}, more...)
	}
	write := func(id string) {
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/"+id+"?context=main", `{"name": "`+id+`"}`)
	}
	write("a")
	write("b")
	process.File(t, position+".partial", strings.Repeat("of a run that was killed ", 100))
	printed := process.Run(t, env, tail("--once")...)
	process.Wants(t, printed, `"id":"a","kind":"created"`, `"id":"b","kind":"created"`, `"object":{`)
	if printed := process.Run(t, env, tail("--once")...); printed != "" {
		t.Errorf("again it prints %s", printed)
	}
	keepsOnly(t, position)
	waits := process.Launch(t, process.Command(t, nil, tail("--include", "none", "--token-file", filepath.Join(tokens, "right"))...))
	write("c")
	line := waits.Stdout.Await(t, 0, func(line string) bool { return strings.Contains(line, `"id":"c"`) })
	if strings.Contains(line, "object") {
		t.Errorf("with --include none it prints %s", line)
	}
	if err := waits.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waits.Ends(128 + int(syscall.SIGTERM))
	if err := os.WriteFile(position, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	process.Wants(t, process.Fails(t, env, tail("--once")...), "remove "+position+" to begin again")
	refused := process.Fails(t, nil, tail("--once", "--token-file", filepath.Join(tokens, "wrong"))...)
	process.Wants(t, refused, "marquee: 401 Unauthorized: ", "access token is not valid")
	if strings.Count(refused, "marquee: ") != 1 {
		t.Errorf("it is refused with %q", refused)
	}
}

// keepsOnly checks that marquee tail has left nothing beside the file of its position.
func keepsOnly(t *testing.T, position string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(position))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Name() != filepath.Base(position) {
		t.Errorf("beside the position are %v", files)
	}
}
