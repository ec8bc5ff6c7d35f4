package limits

import (
	"testing"
	"testing/fstest"
)

func TestMemoryFitsTheContainer(t *testing.T) {
	const mib = 1 << 20
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files                             fstest.MapFS
		given, container, budget, runtime int64
	}{
		"no groups": {budget: 256 * mib, runtime: 272 * mib},
		"version 2, no limit": {files: fstest.MapFS{"proc/self/cgroup": file("0::/user\n"), "sys/fs/cgroup/user/memory.max": file("max\n")},
			budget: 256 * mib, runtime: 272 * mib},
		"version 2, in a container": {files: fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("536870912\n")},
			container: 512 * mib, budget: 536870912 / 3, runtime: 536870912/3 + 16*mib},
		"version 2, limited around": {files: fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("268435456\n")},
			container: 256 * mib, budget: 268435456 / 3, runtime: 268435456/3 + 16*mib},
		"version 1": {files: fstest.MapFS{"proc/self/cgroup": file("5:cpu,cpuacct:/x\n4:memory:/docker/1\n1:name=systemd:/x\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("134217728\n")},
			container: 128 * mib, budget: 134217728 / 3, runtime: 134217728/3 + 16*mib},
		"version 1, no limit": {files: fstest.MapFS{"proc/self/cgroup": file("4:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")},
			budget: 256 * mib, runtime: 272 * mib},
		"a large container": {files: fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("8589934592\n")},
			container: 8 << 30, budget: 256 * mib, runtime: 272 * mib},
		"a given budget": {files: fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("536870912\n")},
			given: 448 * mib, container: 512 * mib, budget: 448 * mib, runtime: 536870912 - 536870912/10},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(c.files, c.given, "")
			if m.container != c.container || m.Budget != c.budget || m.limit(0) != c.runtime {
				t.Errorf("the container has %d, requests %d, the runtime %d", m.container, m.Budget, m.limit(0))
			}
		})
	}
	if m := newMemory(fstest.MapFS{}, 0, "").BesideCaches(); m.Budget != 224*mib || m.limit(0) != 240*mib {
		t.Errorf("beside the caches of a store, requests have %d, the runtime %d", m.Budget, m.limit(0))
	}
	if m := newMemory(fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("50331648\n")}, 0, "").BesideCaches(); m.Budget != MinBudget {
		t.Errorf("beside the caches of a store, requests in a small container have %d", m.Budget)
	}
	if m := newMemory(fstest.MapFS{}, 0, "1GiB"); !m.fixed {
		t.Error("GOMEMLIMIT is not left alone")
	}
	if m := newMemory(fstest.MapFS{}, 0, ""); m.limit(400*mib) != (256+500+2)*mib {
		t.Errorf("a process that keeps 400 MiB is limited to %d", m.limit(400*mib))
	}
}

func TestMemoryKeepsNothingOfRequests(t *testing.T) {
	const mib = 1 << 20
	m := newMemory(fstest.MapFS{}, 0, "")
	for name, c := range map[string]struct {
		before, stale, live, used, want int64
	}{
		"idle":                           {stale: 10 * mib, live: 9 * mib, want: 10 * mib},
		"a request is over":              {stale: 180 * mib, live: 10 * mib, want: 10 * mib},
		"a request goes on":              {before: 10 * mib, stale: 220 * mib, live: 160 * mib, used: 150 * mib, want: 10 * mib},
		"an index grows":                 {before: 10 * mib, stale: 300 * mib, live: 290 * mib, want: 290 * mib},
		"an index grows beside requests": {before: 10 * mib, stale: 300 * mib, live: 290 * mib, used: 50 * mib, want: 240 * mib},
		"an index is gone":               {before: 290 * mib, stale: 20 * mib, live: 10 * mib, want: 20 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			found := c.stale
			kept := m.keeps(c.before, func() int64 { return found }, func() int64 { return c.used }, func() { found = c.live })
			if kept != c.want {
				t.Errorf("%d MiB are kept, not %d", kept/mib, c.want/mib)
			}
		})
	}
}
