// Package schemas holds the JSON Schemas of the advertising service.
package schemas

import "embed"

// FS holds one type a file, and shared definitions in common.
//
//go:embed *.json common/*.json
var FS embed.FS
