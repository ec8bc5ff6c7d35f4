package command

import (
	"fmt"
	"time"

	"github.com/alecthomas/kong"
)

// check rejects settings that are out of their range, or do not belong together.
func (c *serveCommand) check(parsed *kong.Context) error {
	return refused(append(append(c.configure(parsed), c.checkRanges()...), c.connectionFlags.check())...)
}

// checkRanges rejects numbers and durations that are out of their range.
func (c *serveCommand) checkRanges() (errs []error) {
	for _, setting := range []struct {
		wrong bool
		text  string
	}{
		{c.ClockInterval <= 0, "--clock-interval must be greater than 0"},
		{c.RefreshReuseInterval < 0, "--refresh-reuse-interval must not be less than 0"},
		{c.SigningKeyLifetime != 0 && c.SigningKeyLifetime < minKeyLifetime, "--signing-key-lifetime must be 0, or at least " + minKeyLifetime.String()},
		{c.RequestTimeout <= 0, "--request-timeout must be greater than 0"},
		{c.ReadTimeout < 0, "--read-timeout must not be less than 0"},
		{c.WriteTimeout < 0, "--write-timeout must not be less than 0"},
		{c.IdleTimeout < 0, "--idle-timeout must not be less than 0"},
		{c.DrainDelay < 0, "--drain-delay must not be less than 0"},
		{c.ShutdownTimeout < 0, "--shutdown-timeout must not be less than 0"},
		{c.MemoryBudget != 0 && c.MemoryBudget < minMemoryBudget, fmt.Sprintf("--memory-budget must be 0, or at least %d", minMemoryBudget)},
		{c.SpoolBudget < 0, "--spool-budget must not be less than 0"},
		{c.MaxConnections < 1, "--max-connections must be at least 1"},
		{c.MaxConnectionsPerAddress < 1, "--max-connections-per-address must be at least 1"},
		{c.MaxFailedSignIns < 1, "--max-failed-sign-ins must be at least 1"},
		{c.MaxFailedFromAddress < 1, "--max-failed-sign-ins-per-address must be at least 1"},
		{c.FailedSignInWindow < time.Minute, "--failed-sign-in-window must be at least 1m"},
		{c.MaxCreatedNetworks < 1, "--max-created-networks must be at least 1"},
		{c.MaxGrantedNetworks < 1, "--max-granted-networks must be at least 1"},
		{c.refusesPasswords(), refusedMinLength},
		{c.MaxSessions < 1 || c.MaxSessions > 1000, "--max-sessions must be from 1 to 1000"},
	} {
		if setting.wrong {
			errs = append(errs, usagef("%s", setting.text))
		}
	}
	return errs
}
