package command

import (
	"runtime/debug"
	"testing"
)

// TestBuiltFrom: without a version that was set, the commit is that of the build.
func TestBuiltFrom(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for want, info := range map[string]*debug.BuildInfo{
		"0123456789ab":       {Settings: []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "false")}},
		"0123456789ab-dirty": {Settings: []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "true")}},
		"dev":                {},
	} {
		if got := builtFrom(info); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	if got := builtFrom(nil); got != "dev" {
		t.Errorf("%q without build information", got)
	}
}
