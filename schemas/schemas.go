// Package schemas holds the JSON Schemas of the advertising service. It imports
// package base alone; begin with FS.
package schemas

import (
	"embed"

	"marquee/schemas/base"
)

// advertising holds the types of the service, and the roles and teams that refer
// to its sites.
//
//go:embed *.json common/*.json
var advertising embed.FS

// FS holds one type a file, and shared definitions in common, those of package
// base among them.
var FS = base.Extend(advertising)
