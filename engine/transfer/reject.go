package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"marquee/engine/message"
)

// maxListed is the number of rejected lines, and of dropped properties, that are
// described.
const maxListed = 20

// reject rejects the items to which messages apply and the items that refer to
// these, and returns the others. All messages apply to a single item.
func (r *Importer) reject(ctx context.Context, items []item, err *message.Error) ([]item, error) {
	faults := map[int][]message.Message{}
	for _, m := range err.Messages {
		m = r.Target.Registry().Shown(m)
		i, indexed := m.Param("index").(int)
		if len(items) == 1 {
			i, indexed = 0, true
		}
		if indexed {
			faults[i] = append(faults[i], m)
		}
	}
	if len(items) > 1 && len(faults) > 0 {
		if err := r.addMissing(ctx, items, faults); err != nil {
			return nil, err
		}
	}
	var rest []item
	for i, it := range items {
		if faults[i] == nil {
			rest = append(rest, it)
			continue
		}
		if err := r.rejectLine(it, faultsOf(&message.Error{Messages: faults[i]}, it.number)); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// rejectLine rejects a line, or makes it wait if a later line may create the object
// that it refers to.
func (r *Importer) rejectLine(it item, faults []message.Message) error {
	if r.Strict {
		return fmt.Errorf("line %d is invalid, and its chunk was not written: %s", it.number, strings.TrimSuffix(sentences(faults), "."))
	}
	missing := !slices.ContainsFunc(faults, func(m message.Message) bool { return m.Definition() != message.ReferencedObjectNotFound })
	if missing && r.state.Mode != last {
		return r.wait(it)
	}
	r.state.Rejected++
	if len(r.state.First) < maxListed {
		r.state.First = append(r.state.First, fmt.Sprintf("line %d: %s", it.number, sentences(faults)))
	}
	if r.report == nil {
		return nil
	}
	entry, err := r.rejection(it, faults)
	if err != nil {
		return err
	}
	n, err := r.report.Write(entry)
	r.state.ReportBytes += int64(n)
	if err != nil {
		return fmt.Errorf("the report of rejected lines cannot be written: %w", err)
	}
	return nil
}

// rejection returns the entry of the report for a rejected line: its messages as
// text and as JSON, in comments that an import skips, and the line itself. The first
// entry of a CSV file has its header, too.
func (r *Importer) rejection(it item, faults []message.Message) ([]byte, error) {
	encoded, err := json.Marshal(struct {
		Line     int64             `json:"line"`
		Messages []message.Message `json:"messages"`
	}{it.number, faults})
	if err != nil {
		return nil, err
	}
	entry := fmt.Appendf(nil, "# line %d: %s\n# %s\n", it.number, Printable(sentences(faults)), encoded)
	if r.CSV && r.state.ReportBytes == 0 {
		entry = append(append(entry, r.header...), '\n')
	}
	if it.text == nil {
		return fmt.Appendf(entry, "# The line is too long to be included.\n"), nil
	}
	if r.CSV {
		return append(append(entry, withoutComment(it.text)...), '\n'), nil
	}
	return append(append(entry, it.text...), '\n'), nil
}

// Printable replaces control characters, which could end a comment or control a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// sentences returns the texts of messages, with the field if a text does not
// include it.
func sentences(faults []message.Message) string {
	texts := make([]string, len(faults))
	for i, m := range faults {
		texts[i] = m.String()
		if field, _ := m.Param("field").(string); field != "" && !strings.Contains(texts[i], field) {
			texts[i] = field + ": " + texts[i]
		}
	}
	return strings.Join(texts, " ")
}

// wait adds a line to the list of those that are tried again.
func (r *Importer) wait(it item) error {
	if r.spool != nil && r.state.Pass == 0 {
		var err error
		if it.offset, err = r.spool.Seek(0, io.SeekEnd); err == nil {
			_, err = r.spool.Write(it.text)
		}
		if err != nil {
			return cannotSave("the waiting lines", err)
		}
		it.length = int64(len(it.text))
	}
	if _, err := r.list.Write(appendWaiting(nil, it.place)); err != nil {
		return cannotSave("the waiting lines", err)
	}
	r.state.Waiting++
	r.held.add(it.key())
	return nil
}

// writeError returns an error that ends the import, and is not caused by the lines.
func writeError(items []item, err error) error {
	cause := ""
	var known *message.Error
	if errors.As(err, &known) && known.Unwrap() != nil {
		cause = " (" + known.Unwrap().Error() + ")"
	}
	return fmt.Errorf("lines %d to %d could not be written: %s%s", items[0].number, items[len(items)-1].number,
		strings.TrimSuffix(err.Error(), "."), cause)
}
