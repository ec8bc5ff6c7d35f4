package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestMessageJSON(t *testing.T) {
	for _, c := range []struct {
		message Message
		want    string
	}{
		{PropertyRequired.With(Params{"field": "/a"}),
			`{"type":"ValidationErrorMessage","code":"error.property.required","text":"{{field}} is required.","params":{"field":"/a"}}`},
		{BodyNotObject.With(nil), `{"type":"ErrorMessage","code":"error.body.not.object","text":"This must be a JSON object.","params":{}}`},
	} {
		got, err := json.Marshal(c.message)
		if err != nil || string(got) != c.want {
			t.Errorf("%s (%v), want %s", got, err, c.want)
		}
	}
}

// A parameter whose value looks like a placeholder is not replaced again.
func TestStringFillsInOnce(t *testing.T) {
	m := IDMismatch.With(Params{"value": "{{id}}", "id": "{{value}}"})
	for range 50 {
		if got, want := m.String(), "The id in the body ({{id}}) differs from the id in the path ({{value}})."; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

func TestAdding(t *testing.T) {
	m := PropertyRequired.With(Params{"field": "/a"})
	more := m.Adding(Params{"field": "/b", "index": 1})
	if more.Param("field") != "/a" || more.Param("index") != 1 || m.Param("index") != nil || more.Definition() != PropertyRequired {
		t.Errorf("%v, %v", more, m)
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("wrapped: %w", StoreUnavailable.Error(nil).Caused(cause))
	if !StoreUnavailable.Is(err) || InternalError.Is(err) || InternalError.Is(cause) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if text := StoreUnavailable.Error(nil).Caused(cause).Error(); text != StoreUnavailable.Text {
		t.Errorf("a client sees %q", text)
	}
}

func TestFaults(t *testing.T) {
	var faults Faults
	if err := faults.Err(); err != nil {
		t.Errorf("%v without a fault", err)
	}
	faults.Add(TooManyValues.With(Params{"limit": 1}))
	clone := faults.Clone()
	for range MaxFaults + 5 {
		faults.Add(PropertyRequired.With(nil))
	}
	clone.Add(ValueEnum.With(nil))
	var e *Error
	if !errors.As(faults.Err(), &e) || e.Kind != TooLarge || len(e.Messages) != MaxFaults || faults.Len() != MaxFaults+6 {
		t.Errorf("%v", e)
	}
	if clone.Len() != 2 || e.Messages[1].Definition() != PropertyRequired {
		t.Error("a clone and its original share what they hold")
	}
}
