package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// DecodeChoice reads one of the values of an enum, in any case; another
// value is kept, and refused with the list of them.
func DecodeChoice(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	for _, value := range ctx.Value.EnumSlice() {
		if strings.EqualFold(value, text) {
			text = value
		}
	}
	target.SetString(text)
	return nil
}

// DecodeFolder reads the path of a folder, and keeps it as it was given.
func DecodeFolder(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("folder", &path); err != nil {
		return err
	}
	if strings.HasPrefix(path, "~/") {
		path = kong.ExpandPath(path)
	}
	info, err := os.Stat(path)
	switch {
	case path == "" && ctx.Value.Flag != nil: // as a variable that is set to nothing
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	}
	target.SetString(path)
	return nil
}
