package openapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"marquee/engine/rest"
	"marquee/engine/schema"
)

var homeTemplate = parsePage("home.html")

// HomePath is the path at which people and programs begin.
const HomePath = "/"

// homeLinks are the links for programs, by their names.
var homeLinks = map[string]string{
	"documentation": "/docs", "messages": messagesPath, "openapi": "/api/openapi.json", "openapiYaml": "/api/openapi.yaml",
	"health": "/healthz", "readiness": "/readyz",
}

// homeHeaders are the same links as relations (RFC 8288): service-desc, service-doc and
// status are those of RFC 8631.
var homeHeaders = []string{
	`</api/openapi.json>; rel="service-desc"; type="application/json"`,
	`</api/openapi.yaml>; rel="service-desc"; type="application/yaml"`,
	`</docs>; rel="service-doc"; type="text/html"`,
	`</healthz>; rel="status"; type="application/json"`,
}

// homeRoute is the route of HomePath: a page or the way to the console for browsers, and
// links for programs.
func (s *Documents) homeRoute() rest.Route {
	return rest.Route{Path: HomePath, Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: textPolicy, Serve: func(r *rest.Call) error {
		header := r.Header()
		header.Add("Vary", "Accept")
		for _, link := range homeHeaders {
			header.Add("Link", link)
		}
		links, html := homeLinks, prefersHTML(strings.Join(r.Request().Header.Values("Accept"), ","))
		if html && s.Console == "" {
			return s.serveText(r, HomePath, s.renderHome)
		}
		header.Set("Content-Security-Policy", rest.APIPolicy)
		if html {
			header.Set("Location", s.Console)
			r.Send(http.StatusSeeOther, "text/plain; charset=utf-8", nil)
			return nil
		}
		if s.Console != "" {
			links = maps.Clone(links)
			links["console"] = s.Console
		}
		body, err := json.Marshal(links)
		if err != nil {
			return err
		}
		return serveFile(r, "application/json", newContent(body))
	}}
}

// renderHome returns the page for browsers.
func (s *Documents) renderHome(types *schema.Registry) ([]byte, error) {
	return execute(homeTemplate, struct {
		Version string
		Types   []*schema.Type
	}{s.version, types.Types()})
}
