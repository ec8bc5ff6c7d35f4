package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// build returns the request for the given values.
func (r *request) build(ctx context.Context, url string, value values) (*http.Request, error) {
	path, err := r.Path.render(value)
	if err != nil {
		return nil, err
	}
	body, err := r.Body.render(value)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, t := range r.Headers {
		text, err := t.render(value)
		if err != nil {
			return nil, err
		}
		request.Header.Set(name, text)
	}
	return request, nil
}

// items returns n objects, separated by commas.
func (r *request) items(begin, n int, object func(i int) values) (string, error) {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := r.Item.render(object(begin + i))
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// check reports whether the answer has what is expected.
func (r *request) check(answer []byte, value values) error {
	for _, t := range r.Expect {
		text, err := t.render(value)
		if err != nil {
			return err
		}
		if !bytes.Contains(answer, []byte(text)) {
			return fmt.Errorf("the answer does not contain %s: %.500s", text, answer)
		}
	}
	return nil
}

// saved returns the variables that are in the answer.
func (r *request) saved(answer []byte) (map[string]string, error) {
	found := map[string]string{}
	for name, pointer := range r.Save {
		var value any
		if err := json.Unmarshal(answer, &value); err != nil {
			return nil, err
		}
		for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			object, _ := value.(map[string]any)
			value = object[key]
		}
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("there is no %s in %.500s", pointer, answer)
		}
		found[name] = text
	}
	return found, nil
}
