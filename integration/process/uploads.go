package process

import (
	"bytes"
	"io"
	"net/http"

	"marquee/integration/service"
)

// Uploads sends a file to the creative c.
func (p *Process) Uploads(id, name string, content []byte) *service.Answer {
	p.TB.Helper()
	contentType, body := service.Form(name, content)
	a, err := p.Post(id, contentType, bytes.NewReader(body))
	if err != nil || a.Status != http.StatusCreated {
		p.TB.Fatal(err, a)
	}
	return a
}

// Creative makes the creative c.
func (p *Process) Creative() {
	p.TB.Helper()
	p.SignIn("admin", Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/layouts/l?context=main",
		`{"name": "L", "html": "<img src=\"{{image}}\">", "assetConstraints": [{"tag": "image"}]}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/creatives/c?context=main",
		`{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`)
}

// Post sends a form as a stream of unknown length.
func (p *Process) Post(id, contentType string, body io.Reader) (*service.Answer, error) {
	request, err := http.NewRequest(http.MethodPost, p.URL+"/api/v1/assets/c/"+id+"?context=main", body)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {contentType}, "Authorization": {"Bearer " + p.Token}}
	response, err := p.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &service.Answer{Method: http.MethodPost, Status: response.StatusCode, Header: response.Header}
	a.Body, err = io.ReadAll(response.Body)
	return a, err
}
