package command

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"marquee/command/exit"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/transfer"
)

// placeholders of a command line that the user has to fill in.
const (
	anyType    = "TYPE"
	anyNetwork = "NETWORK"
)

// hint adds to an error of an import without a type the command that imports
// the file, as far as it can be known.
func (c *importCommand) hint(ctx context.Context, d *destination, args []string, bare *transfer.NotEnvelopeError) error {
	fitting := fitting(d.Registry(), bare.Text)
	name, t := anyType, (*schema.Type)(nil)
	base := strings.TrimSuffix(filepath.Base(c.First), filepath.Ext(c.First))
	if i := slices.IndexFunc(fitting, func(t *schema.Type) bool { return t.Name == base || len(fitting) == 1 }); i >= 0 {
		t = fitting[i]
		name = t.Name
	}
	words := []string{programName}
	left, typed := false, false
	for i := 0; i < len(args); i++ {
		flag, _, whole := strings.Cut(args[i], "=")
		switch {
		case args[i] == c.First && !typed:
			words, typed = append(words, name, shellWord(args[i])), true
		case secretFlag(flag):
			if left = true; !whole {
				i++
			}
		case strings.Contains(args[i], "://") && strings.Contains(args[i], "@"):
			left = true
			if words[len(words)-1] == "--store" {
				words = words[:len(words)-1]
			}
		default:
			words = append(words, shellWord(args[i]))
		}
	}
	if c.Context == "" && (t == nil || !t.Global) {
		network := anyNetwork
		if known, err := d.networks(ctx, ""); err == nil && len(known) == 1 {
			network = shellWord(known[0])
		}
		words = append(words, "--context", network)
	}
	text := fmt.Sprintf("%v: name the type of the lines before the file, as in: %s", bare, strings.Join(words, " "))
	if left {
		text += " and the other flags as before"
	}
	if t == nil && len(fitting) > 0 {
		text += "\nThe line could be one of " + typeNames(fitting)
	}
	return exit.Usagef("%s", text)
}

// secretFlag reports whether the value of a flag must not be printed.
func secretFlag(flag string) bool { return flag == "--secret-key" }

// fitting lists the types that an object could be of: those that have all of
// its members, and require no other.
func fitting(registry *schema.Registry, text []byte) []*schema.Type {
	object, err := document.DecodeObject(text, document.DefaultLimits)
	if err != nil {
		return nil
	}
	var types []*schema.Type
	for _, t := range registry.Types() {
		t, fits := t.Served(), true
		for name := range object {
			fits = fits && (t.Shape.Properties[name] != nil || schema.CommonField(name) || name == t.IDProperty)
		}
		required, _ := t.Source["required"].([]any)
		for _, name := range required {
			_, there := object[fmt.Sprint(name)]
			fits = fits && there
		}
		if fits {
			types = append(types, t)
		}
	}
	return types
}

func typeNames(types []*schema.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// shellWord is a text as one word of a shell's command line.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,+%@", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return shellQuote(text)
}
