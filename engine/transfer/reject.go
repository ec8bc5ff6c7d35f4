package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"marquee/engine/message"
)

// told is how many rejected lines, and dropped properties, are told of.
const told = 20

// reject refuses the items that messages speak of, and those that refer to them,
// and returns the others. A single item is refused whatever they speak of.
func (r *Importer) reject(ctx context.Context, items []item, err *message.Error) ([]item, error) {
	faults := map[int][]message.Message{}
	for _, m := range err.Messages {
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
		if err := r.refuse(it, faultsOf(&message.Error{Messages: faults[i]}, it.number)); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// refuse lets a line wait that refers to what may stand further below, and
// rejects others.
func (r *Importer) refuse(it item, faults []message.Message) error {
	if r.Strict {
		return fmt.Errorf("line %d is at fault, and nothing of its chunk was written: %s", it.number, strings.TrimSuffix(sentences(faults), "."))
	}
	missing := !slices.ContainsFunc(faults, func(m message.Message) bool { return m.Definition() != message.ReferencedObjectNotFound })
	if missing && r.state.Mode != last {
		return r.wait(it)
	}
	r.state.Rejected++
	if len(r.state.First) < told {
		r.state.First = append(r.state.First, fmt.Sprintf("line %d: %s", it.number, sentences(faults)))
	}
	if r.report == nil {
		return nil
	}
	entry, err := json.Marshal(struct {
		Line     int64             `json:"line"`
		Messages []message.Message `json:"messages"`
	}{it.number, faults})
	if err != nil {
		return err
	}
	n, err := r.report.Write(append(entry, '\n'))
	r.state.ReportBytes += int64(n)
	if err != nil {
		return fmt.Errorf("the report of rejected lines cannot be written: %w", err)
	}
	return nil
}

// sentences are the texts of messages, with the field where a text has none.
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

// wait puts a line on the list of those that are tried again.
func (r *Importer) wait(it item) error {
	if r.spool != nil && r.state.Pass == 0 {
		var err error
		if it.offset, err = r.spool.Seek(0, io.SeekEnd); err == nil {
			_, err = r.spool.Write(it.text)
		}
		if err != nil {
			return notKept("the lines that wait", err)
		}
		it.length = int64(len(it.text))
	}
	if _, err := r.list.Write(appendWaiting(nil, it.place)); err != nil {
		return notKept("the lines that wait", err)
	}
	r.state.Waiting++
	r.held.add(it.key())
	return nil
}

// stopped is an error that ends the import: it is not the lines' fault.
func stopped(items []item, err error) error {
	cause := ""
	var known *message.Error
	if errors.As(err, &known) && known.Unwrap() != nil {
		cause = " (" + known.Unwrap().Error() + ")"
	}
	return fmt.Errorf("the lines %d to %d could not be written: %s%s", items[0].number, items[len(items)-1].number,
		strings.TrimSuffix(err.Error(), "."), cause)
}
