package resources

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func settingsOf(t *testing.T, args ...string) *Settings {
	t.Helper()
	settings := New().Settings()
	parser, err := kong.New(settings)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func TestSettings(t *testing.T) {
	s := settingsOf(t, "--cdn-url", "https://cdn.example.com/ads/", "--max-asset-size", "7", "--network-quota", "8")
	if err := s.Configure(0); err != nil {
		t.Fatal(err)
	}
	if a := s.service.Assets; a.CDN != "https://cdn.example.com/ads" || a.MaxBytes != 7 || a.NetworkQuota != 8 {
		t.Errorf("assets have %q, %d and %d", a.CDN, a.MaxBytes, a.NetworkQuota)
	}
	for args, want := range map[string]string{
		"--max-asset-size 0":   "--max-asset-size must be at least 1",
		"--network-quota=-1":   "--network-quota must not be less than 0",
		"--embeddings-model m": "need its --embeddings-url",
	} {
		if err := settingsOf(t, strings.Fields(args)...).Configure(0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestArticleMemory(t *testing.T) {
	const mib = 1 << 20
	if inside, outside := articleMemory(512*mib), articleMemory(0); inside != 128*mib || outside != 480*mib {
		t.Errorf("the index of articles has %d and %d bytes", inside, outside)
	}
}
