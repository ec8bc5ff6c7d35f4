// Package limits is what the process may use of the machine: memory, as its container and a
// budget allow, and open files.
package limits

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"marquee/engine/rest"
)

// Memory is the memory that the process may use.
type Memory struct {
	// container is the limit of the control groups that the process is in, 0 for
	// none.
	container int64
	// Budget is what requests may use together.
	Budget int64
	// fixed reports whether the environment has set the limit of the Go runtime.
	fixed bool
}

const (
	// containerPart is the part of a container's memory that is the default budget
	// at most.
	containerPart = 3
	// MinBudget is the least that lets a body of the largest size be written.
	MinBudget = 16 << 20
	// minKept is the least memory that the process keeps besides that of requests, and
	// slack the memory that it may have although it is no longer used.
	minKept = 14 << 20
	slack   = 2 << 20
)

// headroom is memory that the collector counts as in use, and that takes no room
// because nothing is written to it. Without it, a heap of 4 MiB, as most have, is
// collected after every further 4 MiB, which takes up to 5 % of the processor time
// of single requests. With it, the heap may grow by headroom more before it is
// collected, and by no more than that if it is large.
var headroom []byte

const headroomSize = 16 << 20

// AddHeadroom adds the headroom, unless the environment has set the limit of the Go
// runtime. It is called before memory has been used that could be given to it again.
func (m Memory) AddHeadroom() {
	if !m.fixed {
		headroom = make([]byte, headroomSize)
	}
}

// New is the memory of this process with a budget, 0 for the default. Variable is the value
// of GOMEMLIMIT in the environment.
func New(budget int64, variable string) Memory { return newMemory(hostFiles(), budget, variable) }

// newMemory is the memory of a process with a budget, 0 for the default.
func newMemory(files fs.FS, budget int64, variable string) Memory {
	m := Memory{container: containerLimit(files), Budget: budget, fixed: variable != ""}
	if m.Budget == 0 {
		m.Budget = rest.DefaultMemory
		if m.container > 0 {
			m.Budget = max(MinBudget, min(m.Budget, m.container/containerPart))
		}
	}
	return m
}

// BesideCaches returns the memory with an eighth of a default budget left to the
// caches of the embedded store, which are not in the memory of the Go runtime.
func (m Memory) BesideCaches() Memory {
	m.Budget = max(MinBudget, m.Budget-m.Budget/8)
	return m
}

// limit is the limit of the Go runtime for a process that keeps a number of bytes
// besides what requests use: what is kept grows with what the application keeps, such as indexes.
func (m Memory) limit(kept int64) int64 {
	limit := m.Budget + max(minKept, kept+kept/4) + slack
	if m.container > 0 { // the rest is not the runtime's: the program itself, and buffers of files
		limit = min(limit, m.container-m.container/10)
	}
	return limit
}

// Set sets the limit of the Go runtime, unless the environment has.
func (m Memory) Set(kept int64) {
	if !m.fixed {
		debug.SetMemoryLimit(m.limit(kept) + int64(len(headroom)))
	}
}

// followEvery is the interval at which the runtime's limit is set again.
const followEvery = 10 * time.Second

// Follow lets the limit follow what the process keeps, until the context ends.
// Used returns the memory that requests use, which may be less than they have taken.
func (m Memory) Follow(ctx context.Context, used func() int64) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for kept := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		kept = m.keeps(kept, live, used, runtime.GC)
		m.Set(kept)
	}
}

// live is what the last collection has found to be in use, without the headroom.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return max(0, int64(min(sample[0].Value.Uint64(), math.MaxInt64/4))-int64(len(headroom)))
}

// keeps returns the memory that the process keeps besides that of requests, when it kept a
// number of bytes before. Memory that was live at the last collection may have been in
// use by requests that are over: before it raises the limit, it is collected.
func (m Memory) keeps(before int64, live, used func() int64, collect func()) int64 {
	taken := used()
	kept := live() - taken
	if m.limit(kept) > m.limit(before) {
		collect()
		taken = max(taken, used())
		kept = live() - taken
	}
	if taken > 0 {
		return max(before, kept)
	}
	return kept
}

// Attributes are what the log says of the memory.
func (m Memory) Attributes() []any {
	attributes := []any{slog.Int64("memoryBudget", m.Budget), slog.Int64("memoryLimit", debug.SetMemoryLimit(-1)-int64(len(headroom)))}
	if m.container > 0 {
		attributes = append(attributes, slog.Int64("containerLimit", m.container))
	}
	return attributes
}

// Container is the memory limit of the container of this process, 0 for none.
func Container() int64 { return containerLimit(hostFiles()) }

// containerLimit is the least memory limit of the control groups that the process
// is in, and of those around them; 0 for none.
func containerLimit(files fs.FS) int64 {
	groups, err := fs.ReadFile(files, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(math.MaxInt64)
	lines := bufio.NewScanner(bytes.NewReader(groups))
	for lines.Scan() { // hierarchy:controllers:path
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "", ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			root, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			root, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container, the path may be that of the host: then only its root is
		// there, which is the container's.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			text, err := fs.ReadFile(files, path.Join(root, group, file))
			if limit, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil && limit > 0 {
				least = min(least, limit)
			}
			if group == "/" {
				break
			}
		}
	}
	if least >= 1<<60 { // what version 1 says for none
		return 0
	}
	return least
}

// hostFiles are those of the machine.
func hostFiles() fs.FS { return os.DirFS("/") }
