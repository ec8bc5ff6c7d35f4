package command

import (
	"fmt"
	"runtime/debug"
)

// programVersion is the given version, or else the commit that the program was built
// from, as far as the Go tool has recorded it.
func programVersion(given string) string {
	if given != "" {
		return given
	}
	info, _ := debug.ReadBuildInfo()
	return builtFrom(info)
}

// builtFrom is the commit of a build, "dev" where it is not known.
func builtFrom(info *debug.BuildInfo) string {
	if info == nil {
		return "dev"
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return "dev"
	}
	commit = commit[:min(len(commit), 12)]
	if settings["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	return commit
}

// versionCommand is marquee version.
type versionCommand struct{ served }

func (c *versionCommand) Run() error {
	_, err := fmt.Println(programVersion(c.program.Version))
	return err
}
