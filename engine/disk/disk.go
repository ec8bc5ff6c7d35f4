// Package disk describes file systems. It imports nothing of the project. Begin with Of.
package disk

// Disk is the file system of a folder.
type Disk struct {
	// Size and Free are in bytes; Free is what may still be written.
	Size, Free int64
	// InMemory reports whether it takes memory of the machine (tmpfs).
	InMemory bool
}
