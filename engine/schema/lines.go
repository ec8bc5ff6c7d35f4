package schema

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// number sets the lines of problems that have a pointer into a file.
func (l *loader) number() {
	lines := map[string]map[string]int{}
	for _, f := range l.files {
		lines[f.name] = nil
	}
	for i, p := range l.problems {
		of, readable := lines[p.File]
		if !readable {
			continue
		}
		if of == nil {
			of = l.linesOf(p.File)
			lines[p.File] = of
		}
		l.problems[i].Line = lineAt(of, p.Pointer)
	}
}

func (l *loader) linesOf(name string) map[string]int {
	for _, f := range l.files {
		if f.name == name {
			return linesOf(f.data)
		}
	}
	return nil
}

// lineAt returns the line of the value at a pointer, or of the closest value
// around it that exists.
func lineAt(lines map[string]int, pointer string) int {
	for {
		if line, ok := lines[pointer]; ok {
			return line
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return 1
		}
		pointer = pointer[:i]
	}
}

// linesOf returns the line on which each value of a JSON text begins, for a member
// that of its name.
func linesOf(data []byte) map[string]int {
	lines := map[string]int{}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	line, counted := 1, int64(0)
	for {
		token, err := d.ReadToken()
		if err != nil {
			return lines
		}
		end := d.InputOffset()
		line += bytes.Count(data[counted:end], []byte("\n"))
		counted = end
		if kind := token.Kind(); kind == '}' || kind == ']' {
			continue // its pointer is known
		}
		pointer := string(d.StackPointer())
		if _, known := lines[pointer]; !known {
			lines[pointer] = line
		}
	}
}
