// Command marquee serves a folder of JSON Schemas as a transactional REST service, and
// administers its store.
package main

import "marquee/command"

// version is set by the linker (make build, make image).
var version string

func main() { command.Main(version) }
