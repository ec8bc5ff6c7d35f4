package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"marquee/command/settings"
)

// TestSecretsHaveFiles: each flag whose name is that of a secret has the tag of one, and a
// file can have its value.
func TestSecretsHaveFiles(t *testing.T) {
	secret := regexp.MustCompile(`^(store|from|to|.*(password|secret|key|token))$`)
	found := map[string]bool{}
	if err := kong.Visit(advertisingParser().Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Node); ok {
			files := map[string]bool{}
			for _, flag := range command.Flags {
				files[flag.Name] = true
			}
			for _, flag := range command.Flags {
				isSecret := secret.MatchString(flag.Name) && !flag.IsBool() && flag.Name != "tls-key" // which names a file
				if isSecret != flag.Tag.Has("secret") || isSecret && !files[flag.Name+"-file"] {
					t.Errorf("%s: --%s is a secret: %v, tagged: %v, with a file: %v", command.Path(), flag.Name, isSecret, flag.Tag.Has("secret"), files[flag.Name+"-file"])
				}
				found[flag.Name] = found[flag.Name] || isSecret
			}
		}
		return next(nil)
	}); err != nil || !found["store"] || !found["secret-key"] || !found["bootstrap-password"] || !found["embeddings-key"] || !found["admin-password"] {
		t.Errorf("%v: %v", found, err)
	}
}

// TestSecretFiles: the file of a secret is read whole, but for the newline at its end, and is
// refused if that cannot be.
func TestSecretFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	file := func(content string) string {
		t.Helper()
		if err := os.WriteFile("secret", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return "secret"
	}
	read := func(args ...string) (string, error) {
		p := &Program{}
		cli := p.commands()
		_, err := newParser(p, cli).Parse(append([]string{"init"}, args...))
		return cli.Init.BootstrapPassword, err
	}
	for content, want := range map[string]string{"hunter2": "hunter2", "hunter2\n": "hunter2", "hunter2\r\n": "hunter2", " two\nlines \n\n": " two\nlines \n"} {
		if got, err := read("--bootstrap-password-file", file(content)); got != want || err != nil {
			t.Errorf("%q is read as %q: %v", content, got, err)
		}
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		if _, err := read(args...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", args, err)
		}
	}
	refuses("--bootstrap-password-file nowhere cannot be read: no such file or directory", "--bootstrap-password-file", "nowhere")
	refuses("--bootstrap-password-file . cannot be read: is a directory", "--bootstrap-password-file", ".")
	refuses("--bootstrap-password-file secret is empty", "--bootstrap-password-file", file("\n"))
	refuses("--bootstrap-password-file secret has more than 65536 bytes", "--bootstrap-password-file", file(strings.Repeat("hunter2", 10_000)))
	refuses("give --bootstrap-password or --bootstrap-password-file, not both", "--bootstrap-password-file", file("hunter2"), "--bootstrap-password", "hunter2")
	refuses("give --store or --store-file, not both", "--store-file", file("sqlite:x.db"), "--store", "sqlite:y.db")
	refuses("give --secret-key or --secret-key-file, not both", "--secret-key-file", "nowhere", "--secret-key", "hunter2")
	t.Setenv("MARQUEE_STORE", "") // as a unit of systemd takes a setting back
	if _, err := read("--store-file", file("sqlite:x.db")); err != nil {
		t.Error(err)
	}
	t.Setenv("MARQUEE_BOOTSTRAP_PASSWORD", "hunter2")
	refuses("not both", "--bootstrap-password-file", file("hunter2"))
}

// TestSettingsShown: each setting is shown with its source, and no secret, wherever it is.
func TestSettingsShown(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"store":  "mongodb://marquee:hun:ter2@tail-hunter2@h1:1,h2:2/db?replicaSet=rs0&tlsCertificateKeyFilePassword=hunter2&appName=x\n",
		"c.json": `{"embeddings_key": "hunter2", "embeddings_url": "https://marquee:hunter2@host/?api-key=hunter2&sig=hunter2&v=1", "slow": "3s"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("MARQUEE_BOOTSTRAP_PASSWORD", "hunter2")
	t.Setenv("MARQUEE_LOG_LEVEL", "warn")
	parsed, err := advertisingParser().Parse([]string{"config", "--config", filepath.Join(dir, "c.json"), "--store-file", filepath.Join(dir, "store"),
		"--secret-key", "hunter2", "--trusted-proxies", "10.0.0.1,10.0.0.2", "--demo"})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]settings.Setting{}
	for _, s := range settings.List(parsed) {
		if strings.Contains(s.Value, "hun") || strings.Contains(s.Value, "ter2") {
			t.Errorf("%v shows a secret", s)
		}
		shown[s.Name] = s
	}
	for _, want := range []settings.Setting{
		{Name: "store", Value: "mongodb://marquee:(set)@h1:1,h2:2/db?replicaSet=rs0&tlsCertificateKeyFilePassword=(set)&appName=x", Source: "store_file"},
		{Name: "secret_key", Value: "(set)", Source: "flag"},
		{Name: "bootstrap_password", Value: "(set)", Source: "environment"},
		{Name: "bootstrap_password_file", Value: "", Source: "default"},
		{Name: "embeddings_key", Value: "(set)", Source: "file"},
		{Name: "embeddings_url", Value: "https://marquee:(set)@host/?api-key=(set)&sig=(set)&v=1", Source: "file"},
		{Name: "slow", Value: "3s", Source: "file"},
		{Name: "log_level", Value: "warn", Source: "environment"},
		{Name: "trusted_proxies", Value: "10.0.0.1,10.0.0.2", Source: "flag"},
		{Name: "demo", Value: "true", Source: "flag"},
		{Name: "max_sessions", Value: "100", Source: "default"},
	} {
		if shown[want.Name] != want {
			t.Errorf("%v instead of %v", shown[want.Name], want)
		}
	}
	for _, flag := range parsed.Flags() {
		if _, is := shown[settings.Name(flag)]; is != (len(flag.Envs) > 0) {
			t.Errorf("--%s is shown: %v", flag.Name, is)
		}
	}
}
