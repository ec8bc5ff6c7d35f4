// Package validators checks the OpenAPI document with two independent validators, which
// have the official schema of OpenAPI 3.1, and with the rules of two linters. It may import package marquee, resources,
// marqueetest and installed. Begin with TestDocumentIsValid.
package validators

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee"
	"marquee/integration/installed"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

const suite = installed.Suite("validators")

// validators are programs that fail if a document is invalid.
var validators = map[string]func(t *testing.T, document string) error{
	"openapi-spec-validator": func(t *testing.T, document string) error {
		program := filepath.Join(suite.Python(t, "python"), "openapi-spec-validator")
		_, err := installed.Run(t.Context(), ".", nil, program, "--schema", "3.1", document)
		return err
	},
	"openapi-schema-validator": func(t *testing.T, document string) error {
		folder := suite.Node(t, "node", "validate.js")
		out, err := installed.Run(t.Context(), folder, nil, "node", "validate.js", document)
		if err == nil && strings.TrimSpace(out) != "3.1" {
			t.Errorf("the document is validated as one of version %q", out)
		}
		return err
	},
	"spectral": func(t *testing.T, document string) error {
		folder := suite.Node(t, "lint", "spectral.yaml")
		_, err := installed.Run(t.Context(), folder, nil, "node_modules/.bin/spectral", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint", document)
		return err
	},
	"redocly": func(t *testing.T, document string) error {
		folder := suite.Node(t, "lint", "spectral.yaml")
		quiet := []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}
		out, err := installed.Run(t.Context(), folder, quiet, "node_modules/.bin/redocly", "lint", "--extends", "recommended", document)
		if err == nil && !strings.Contains(out, "Your API description is valid") { // warnings are not errors
			return errors.New(out)
		}
		return err
	},
}

// applications are the applications whose documents are checked.
var applications = map[string]marquee.Options{
	"advertising":    {Application: resources.New().Application()},
	"no application": {},
	"a folder":       {Schemas: os.DirFS("../testdata/hospital")},
}

func TestDocumentIsValid(t *testing.T) {
	if testing.Short() {
		t.Skip("validators are installed")
	}
	for name, validate := range validators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for application, options := range applications {
				document := documentOf(t, options)
				if err := validate(t, stored(t, document)); err != nil {
					t.Errorf("%s: %v", application, err)
				}
				if application != "no application" {
					continue
				}
				wrong := bytes.Replace(document, []byte(`"operationId"`), []byte(`"operationID"`), 1)
				if bytes.Equal(wrong, document) || validate(t, stored(t, wrong)) == nil {
					t.Errorf("%s: a document with an unknown property is valid", application)
				}
			}
		})
	}
}

func documentOf(t *testing.T, options marquee.Options) []byte {
	t.Helper()
	s := marqueetest.StartWith(t, options)
	response, err := http.Get(s.URL + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	document, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", response.StatusCode, err)
	}
	return document
}

func stored(t *testing.T, document []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
